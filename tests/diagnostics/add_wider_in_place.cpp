// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A wider tensor added in place
// WHY: x would get an axis, and its type has none for it.
// FIX: auto y = x + wider;
// EXPECT-GCC: no match for .operator\+=. \(operand types are .bora::Named<Embed>. and .const bora::Named<Batch, Embed>
// EXPECT-CLANG: 'operator\+=' is unavailable: x \+= y: the axes of y must lie within those of x
#include "axes.h"
void wrong(Named<Embed>& x, const Named<Batch, Embed>& wider) { x += wider; }  // USER
