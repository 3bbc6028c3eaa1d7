// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/activation.h"

#include <ATen/core/Tensor.h>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {
namespace {

using T = at::Tensor;

// torch's own sigmoid and the like differ in the last bit where one thread's part of an array ends; tanh does
// not.
T sigmoid(const T& x) { return x.mul(0.5).tanh().add(1).mul(0.5); }
T sigmoid_linear(const T& x, double slope) { return x.mul(sigmoid(x.mul(slope))); }
T gelu(const T& x) { return x.mul(0.5).mul(x.mul(0.70710678118654752).erf().add(1)); }
T gelu_tanh(const T& x) {
  constexpr double kSqrt2OverPi = 0.79788456080286536;
  return x.mul(0.5).mul(x.mul(x).mul(x).mul(0.044715).add(x).mul(kSqrt2OverPi).tanh().add(1));
}

T activated(Activation f, const T& x) {
  switch (f) {
    case Activation::silu:
      return sigmoid_linear(x, 1);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::quick_gelu:
      return sigmoid_linear(x, 1.702);
    case Activation::relu:
      return x.relu();
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return x.tanh();
  }
  return {};
}

}  // namespace

T activate(Activation f, const T& x) { return activated(f, widened(x)).to(x.scalar_type()); }

T gated(Activation f, const T& gate, const T& up) {
  return activated(f, widened(gate)).mul(widened(up)).to(gate.scalar_type());
}

}  // namespace bora::core::plain
