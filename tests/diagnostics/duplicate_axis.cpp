// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: One axis twice
// WHY: position × position: the second one needs a name of its own.
// FIX: Named<Pos, KeyPos>
// EXPECT-GCC: an axis may appear only once in a tensor
// EXPECT-CLANG: an axis may appear only once in a tensor
#include "axes.h"
Named<Pos, Pos> wrong;
