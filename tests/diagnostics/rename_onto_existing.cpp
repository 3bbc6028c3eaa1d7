// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A rename onto an axis that is there already
// WHY: the tensor would have the axis twice.
// FIX: rename to an axis that the tensor lacks.
// FIRST-LINES-CLANG: 4
// EXPECT-GCC: rename<Pos, KeyPos>\(const bora::Named<Pos, KeyPos>&
// EXPECT-GCC: satisfaction of .LacksAxes<X, To>. .with X = bora::Named<Pos, KeyPos>; To = KeyPos
// EXPECT-CLANG: To = KeyPos, X = bora::Named<Pos, KeyPos>
// EXPECT-CLANG: LacksAxes<bora::Named<Pos, KeyPos>, KeyPos>
#include "axes.h"
auto wrong(const Named<Pos, KeyPos>& x) { return rename<Pos, KeyPos>(x); }  // USER
