// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: One-hot rows of numbers
// WHY: only ids name a place.
// FIX: one_hot(argmax<Vocab>(logits), logits.dim<Vocab>())
// EXPECT-GCC: no matching function for call to .one_hot\(const bora::Named<Batch>&, bora::Dim<Vocab>
// EXPECT-CLANG: 'one_hot<bora::Named<Batch>, Vocab>' is unavailable: .*ids are Indices
#include "axes.h"
auto wrong(const Named<Batch>& x) { return one_hot(x, Dim<Vocab>{10}); }  // USER
