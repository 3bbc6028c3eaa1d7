// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An argmax over two axes
// WHY: a place has one number along one axis.
// FIX: flatten<Axes<Pos, Vocab>, Feature>(x) first
// EXPECT-GCC: no matching function for call to .argmax<Pos, Vocab>\(const bora::Named<Batch, Pos, Vocab>&
// EXPECT-CLANG: 'argmax<Pos, Vocab, bora::Named<Batch, Pos, Vocab>>' is unavailable: argmax<Vocab>\(x\) is over one axis
#include "axes.h"
auto wrong(const Named<Batch, Pos, Vocab>& x) { return argmax<Pos, Vocab>(x); }  // USER
