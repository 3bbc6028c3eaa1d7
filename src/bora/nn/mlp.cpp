// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/mlp.h"

#include "bora/base/error.h"

namespace bora::nn {

core::Activation parse_activation(std::string_view name) {
  using core::Activation;
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "gelu") return Activation::gelu;
  if (name == "quick_gelu") return Activation::quick_gelu;
  if (name == "relu") return Activation::relu;
  fail(ErrorKind::Config,
       "activation {} is not one of silu, swish, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu", name);
}

}  // namespace bora::nn
