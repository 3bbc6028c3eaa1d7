// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Broadcasting in both directions
// WHY: predictions [batch, target] minus targets [batch, feature] would silently be [batch, target, feature]. Neither
//      side's axes lie within the other's, so there is no such operator.
// FIX: give both sides the same axes, or broadcast one on purpose with broadcast(x, dim).
// EXPECT-GCC: operand types are .const bora::Named<Batch, Target>. and .const bora::Named<Batch, Feature>
// EXPECT-CLANG: 'const Named<Batch, Target>' and 'const Named<Batch, Feature>'
#include "axes.h"
auto wrong(const Named<Batch, Target>& prediction, const Named<Batch, Feature>& y) {
  return prediction - y;  // USER
}
