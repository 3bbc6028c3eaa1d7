// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An order that leaves an axis out
// WHY: rearrange moves axes; it removes none.
// FIX: rearrange<Embed, Batch, Pos>(x)
// EXPECT-GCC: no matching function for call to .rearrange<Embed, Batch>\(const bora::Named<Batch, Pos, Embed>&
// EXPECT-CLANG: 'rearrange<Embed, Batch, bora::Named<Batch, Pos, Embed>>' is unavailable: rearrange names each axis of x once
#include "axes.h"
auto wrong(const Named<Batch, Pos, Embed>& x) { return rearrange<Embed, Batch>(x); }  // USER
