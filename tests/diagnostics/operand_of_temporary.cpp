// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The operand of a temporary
// WHY: an operand refers to its tensor; that of x + x is gone at the semicolon.
// FIX: auto doubled = x + x; and doubled.operand() where it is used.
// EXPECT-GCC: it refers to a temporary tensor: give the tensor a name first
// EXPECT-CLANG: 'operand' is unavailable: it refers to a temporary tensor
#include "axes.h"
void wrong(const Named<Embed>& x) {
  core::Operand doubled = (x + x).operand();  // USER
  core::reduce(core::Reduction::sum, doubled, Axes<Embed>::names);
}
