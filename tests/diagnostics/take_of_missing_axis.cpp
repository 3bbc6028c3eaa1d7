// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An element taken along an axis that is not there
// WHY: x has no head.
// FIX: take<Pos>(x, 0)
// EXPECT-GCC: no matching function for call to .take<Head>\(const bora::Named<Pos, Embed>&, int\)
// EXPECT-CLANG: 'take<Head, bora::Named<Pos, Embed>>' is unavailable: x must be numbers and have the axis
#include "axes.h"
auto wrong(const Named<Pos, Embed>& x) { return take<Head>(x, 0); }  // USER
