// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: One axis twice
// WHY: position × position: the second one needs a name of its own.
// FIX: Named<Pos, KeyPos>
// EXPECT-GCC: each_axis_only_once<As
// EXPECT-CLANG: constraints not satisfied for class template 'Named' \[with As = <Pos, Pos>\]
#include "axes.h"
Named<Pos, Pos> wrong;  // USER
