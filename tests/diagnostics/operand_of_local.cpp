// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The operand of a tensor that is gone
// WHY: an operand refers to its tensor. clang alone sees this one, so there are no words of g++.
// FIX: return the tensor.
// EXPECT-CLANG: error: address of stack memory associated with local variable 'twice' returned
#include "axes.h"
core::Operand wrong(const Named<Batch>& x) {
  auto twice = x * 2.0;
  return twice.operand();  // USER
}
