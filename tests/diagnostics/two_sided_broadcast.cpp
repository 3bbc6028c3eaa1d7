// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Broadcasting in both directions
// WHY: predictions [batch, target] minus targets [batch, feature] would silently be [batch, target, feature]. Neither
//      side's axes lie within the other's, so there is no such operator.
// FIX: give both sides the same axes, or broadcast one on purpose with broadcast(x, dim).
// EXPECT-GCC: Broadcastable<bora::Named<Batch, Target>, bora::Named<Batch, Feature>|no match for .operator-
// EXPECT-CLANG: Broadcastable<bora::Named<Batch, Target>, bora::Named<Batch, Feature>|invalid operands to binary expression
#include "axes.h"
auto wrong(const Named<Batch, Target>& prediction, const Named<Batch, Feature>& y) { return prediction - y; }
