// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A comparison of tensors of different axes
// WHY: neither tensor has the axes of the other.
// FIX: broadcast(x, y.dim<Embed>()) first
// EXPECT-GCC: no match for .operator<. \(operand types are .const bora::Named<Batch>. and .const bora::Named<Embed>
// EXPECT-CLANG: invalid operands to binary expression \('const Named<Batch>' and 'const Named<Embed>'\)
#include "axes.h"
auto wrong(const Named<Batch>& x, const Named<Embed>& y) { return x < y; }  // USER
