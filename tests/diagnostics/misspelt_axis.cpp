// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A misspelt axis
// WHY: the axis is called HeadDim; a name that was never declared is an ordinary compile error, with a suggestion.
// FIX: write HeadDim.
// EXPECT-GCC: HeadDmi. was not declared in this scope; did you mean .HeadDim
// EXPECT-CLANG: unknown type name 'HeadDmi'; did you mean 'HeadDim'
#include "axes.h"
auto wrong(const Named<Batch, Pos, HeadDim>& x) { return sum<HeadDmi>(x); }  // USER
