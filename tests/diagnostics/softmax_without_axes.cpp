// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A softmax that does not say over what
// WHY: a softmax over no axis would be 1 everywhere.
// FIX: softmax<Vocab>(logits)
// EXPECT-GCC: is unavailable: say over which axes: softmax<Embed>\(x\)
// EXPECT-CLANG: is unavailable: say over which axes: softmax<Embed>\(x\)
#include "axes.h"
auto wrong(const Named<Batch, Vocab>& logits) { return softmax(logits); }  // USER
