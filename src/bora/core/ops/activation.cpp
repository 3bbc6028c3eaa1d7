// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/activation.h"

#include <ATen/core/Tensor.h>

#include "bora/core/autograd/activation.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/layout.h"

namespace bora::core {
namespace {

kernels::Activation activation_of(Gate gate) {
  switch (gate) {
    case Gate::silu:
      return kernels::Activation::silu;
    case Gate::gelu:
      return kernels::Activation::gelu_erf;
    case Gate::gelu_tanh:
      return kernels::Activation::gelu_tanh;
    case Gate::quick_gelu:
      return kernels::Activation::quick_gelu;
    case Gate::relu:
      return kernels::Activation::relu;
  }
  return kernels::Activation::silu;
}

Unary unary_of(Gate gate) {
  switch (gate) {
    case Gate::silu:
      return Unary::silu;
    case Gate::gelu:
      return Unary::gelu;
    case Gate::gelu_tanh:
      return Unary::gelu_tanh;
    case Gate::quick_gelu:
      return Unary::quick_gelu;
    case Gate::relu:
      return Unary::relu;
  }
  return Unary::silu;
}

}  // namespace

Array gated(Gate activation, const Operand& gate, const Operand& up) {
  Space space("gated", {gate, up});
  const auto g = space.local(gate);
  if (!autograd::has_kernel(g)) {
    auto activated = unary(unary_of(activation), gate);
    return binary(Binary::multiply, {activated, gate.names}, up, gate.names);
  }
  auto u = permuted(space.local(up), up.names, gate.names);
  return space.label(autograd::gated(activation_of(activation), g, u), gate.names);
}

}  // namespace bora::core
