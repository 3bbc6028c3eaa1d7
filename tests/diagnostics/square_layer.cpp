// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A layer from an axis to the same axis
// WHY: its weight would be [embed, embed]: which of the two is contracted?
// FIX: nn::Linear<Embed, Mixed>, and rename<Mixed, Embed>(mix(x)) where the result is added to x.
// EXPECT-GCC: template constraint failure .*ResultHasOtherAxesThanInput
// EXPECT-CLANG: constraints not satisfied for class template 'Linear'
#include "axes.h"
struct Block {
  nn::Linear<Embed, Embed> mix;  // USER
};
