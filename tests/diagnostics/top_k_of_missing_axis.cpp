// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The largest along an axis that is not there
// WHY: top_k runs along vocab; the hidden states have embed.
// FIX: top_k<Vocab>(logits, Dim<Target>{5})
// EXPECT-GCC: no matching function for call to .top_k<Vocab>\(const bora::Named<Batch, Embed>&
// EXPECT-CLANG: 'top_k<Vocab, Target, bora::Named<Batch, Embed>>' is unavailable: .*x must have Vocab
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return top_k<Vocab>(x, Dim<Target>{5}); }  // USER
