// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The size of an axis that is not there
// WHY: the hidden states have no vocab.
// FIX: x.size<Embed>()
// EXPECT-GCC: no matching function for call to .bora::Named<Batch, Embed>::size<Vocab>\(
// EXPECT-CLANG: 'size' is unavailable: the tensor does not have this axis
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return x.size<Vocab>(); }  // USER
