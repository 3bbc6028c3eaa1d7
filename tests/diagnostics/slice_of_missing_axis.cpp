// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A slice along an axis that is not there
// WHY: the logits have vocab, not embed.
// FIX: slice<Vocab>(logits, 0, 10)
// EXPECT-GCC: no matching function for call to .slice<Embed>\(const bora::Named<Batch, Vocab>&
// EXPECT-CLANG: 'slice<Embed, bora::Named<Batch, Vocab>>' is unavailable: the tensor must have the axis
#include "axes.h"
auto wrong(const Named<Batch, Vocab>& logits) { return slice<Embed>(logits, 0, 10); }  // USER
