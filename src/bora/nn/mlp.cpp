// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/mlp.h"

#include "bora/base/error.h"

namespace bora::nn {

core::Gate parse_activation(std::string_view name) {
  using core::Gate;
  if (name == "silu" || name == "swish") return Gate::silu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Gate::gelu_tanh;
  if (name == "gelu") return Gate::gelu;
  if (name == "quick_gelu") return Gate::quick_gelu;
  if (name == "relu") return Gate::relu;
  fail(ErrorKind::Config,
       "activation {} is not one of silu, swish, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu", name);
}

core::Unary activation_op(core::Gate gate) {
  switch (gate) {
    case core::Gate::silu:
      return core::Unary::silu;
    case core::Gate::gelu:
      return core::Unary::gelu;
    case core::Gate::gelu_tanh:
      return core::Unary::gelu_tanh;
    case core::Gate::quick_gelu:
      return core::Unary::quick_gelu;
    case core::Gate::relu:
      return core::Unary::relu;
  }
  return core::Unary::silu;
}

}  // namespace bora::nn
