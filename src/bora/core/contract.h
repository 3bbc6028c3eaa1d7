// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <span>
#include <vector>

#include "bora/core/activation_function.h"
#include "bora/core/array.h"

namespace bora::core {

/// Contracts the axes that a and b share and `out` lacks; shared axes that `out` has are batch axes; the rest
/// are kept. Lowers to one matrix product (batched where there are batch axes); views where strides allow,
/// else one copy of the operand concerned.
Array dot(const Operand& a, const Operand& b, Names out);

/// dot(x, weight) + bias, the bias added to the fresh product. `bias` (may be empty) has the axes of the
/// weight that are kept, in the weight's order.
Array linear(const Operand& x, const Operand& weight, const Array& bias, Names out);

/// A map of what follows.
struct LinearMap {
  Operand weight;
  const Array& bias;
  Names out;
};
/// down(f(up(x))): linear(), activate() and linear(). On a device in bf16 f is computed within the products, where its
/// library of products has such ones (DeviceKernels::ActivatedProduct).
Array feed_forward(const Operand& x, const LinearMap& up, Activation f, const LinearMap& down);

/// linear() of one x for each. On a device one product for all, where the copies of the weights that its passes are
/// computed with lie one behind the other (core/cast_once.h).
std::vector<Array> linears(const Operand& x, std::span<const LinearMap> maps);

}  // namespace bora::core
