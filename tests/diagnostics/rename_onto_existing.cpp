// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A rename onto an axis that is there already
// WHY: the tensor would have the axis twice.
// FIX: rename to an axis that the tensor lacks.
// EXPECT-GCC: rename<Pos, KeyPos>\(const bora::Named<Pos, KeyPos>&
// EXPECT-GCC: satisfaction of .LacksAxes<X, To>. .with X = bora::Named<Pos, KeyPos>; To = KeyPos
// EXPECT-CLANG: 'rename<Pos, KeyPos, bora::Named<Pos, KeyPos>>' is unavailable: rename<From, To>\(x\): x must have From, and must not have To
#include "axes.h"
auto wrong(const Named<Pos, KeyPos>& x) { return rename<Pos, KeyPos>(x); }  // USER
