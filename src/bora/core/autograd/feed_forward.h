// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: two linear maps with an activation between them.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "bora/core/activation_function.h"
#include "bora/core/autograd/factor.h"

namespace bora::core::autograd {

/// Weight [n, k], bias [n] or none.
struct FlatMap {
  Factor weight;
  std::optional<Factor> bias;
};

/// Whether the device of x, outside of fp8, has products with such an activation in them.
bool has_activated_products(const at::Tensor& x, Activation f);
/// down(f(up(x))) of x [rows, k], for which it has.
at::Tensor feed_forward(const at::Tensor& x, const FlatMap& up, Activation f, const FlatMap& down);

}  // namespace bora::core::autograd
