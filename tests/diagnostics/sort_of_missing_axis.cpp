// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Sorted along an axis that is not there
// WHY: sort runs along vocab; the hidden states have embed.
// FIX: sort<Embed>(x)
// EXPECT-GCC: no matching function for call to .sort<Vocab>\(const bora::Named<Batch, Embed>&
// EXPECT-CLANG: 'sort<Vocab, bora::Named<Batch, Embed>>' is unavailable: .*one axis, which x must have
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return sort<Vocab>(x); }  // USER
