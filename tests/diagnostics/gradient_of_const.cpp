// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The gradient of a model that is const
// WHY: its parameters cannot be recorded.
// FIX: take the model by reference: nn::Linear<Embed, Mlp>& layer.
// EXPECT-GCC: gradient_of_const.cpp:[0-9]+:.* error: .*value_and_grad_needs_a_model_that_is_not_const
// EXPECT-CLANG: gradient_of_const.cpp:[0-9]+:.* error: value_and_grad needs a model that is not const
#include "axes.h"
auto wrong(const nn::Linear<Embed, Mlp>& layer, const Named<Batch, Embed>& x) {
  return value_and_grad(layer, [&](const auto& l) { return mean_all(l(x)); });  // USER
}
