// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/activation.h"

#include <ATen/core/Tensor.h>

#include "bora/core/autograd/activation.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {
namespace {

using T = at::Tensor;

// torch's own sigmoid and the like differ in the last bit where one thread's part of an array ends. f64 has
// no kernel of ours: it goes through tanh, which does not.
T sigmoid(const T& x) { return x.mul(0.5).tanh().add(1).mul(0.5); }
T sigmoid_linear(const T& x, double slope) { return x.mul(sigmoid(x.mul(slope))); }
T gelu(const T& x) { return x.mul(0.5).mul(x.mul(0.70710678118654752).erf().add(1)); }
T gelu_tanh(const T& x) {
  constexpr double kSqrt2OverPi = 0.79788456080286536;
  return x.mul(0.5).mul(x.mul(x).mul(x).mul(0.044715).add(x).mul(kSqrt2OverPi).tanh().add(1));
}

T plain(Activation f, const T& x) {
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

std::string_view name(Activation f) {
  static constexpr std::string_view kNames[] = {"silu", "gelu",    "gelu_tanh", "quick_gelu",
                                                "relu", "sigmoid", "tanh"};
  return kNames[static_cast<std::size_t>(f)];
}

Array activate(Activation f, const Operand& x) try {
  if (f == Activation::tanh) return unary(Unary::tanh, x);
  const Space space(name(f), {x});
  if (f == Activation::relu) {  // torch's has the same bits for any threads, and takes integers
    require_number(name(f), x);
    return space.label(plain(f, space.local(x)), x.names);
  }
  require_floating(name(f), x);
  const T t = space.local(x);
  return space.label(autograd::has_kernel(t) ? autograd::activate(f, t) : plain(f, t), x.names);
} catch (...) {
  rethrow(name(f), {x});
}

Array gated(Activation f, const Operand& gate, const Operand& up) try {
  Space space("gated", {gate, up});
  const auto g = space.local(gate);
  if (!autograd::has_kernel(g)) {
    auto activated = activate(f, gate);
    return binary(Binary::multiply, {activated, gate.names}, up, gate.names);
  }
  auto u = permuted(space.local(up), up.names, gate.names);
  return space.label(autograd::gated(f, g, u), gate.names);
} catch (...) {
  rethrow("gated", {gate, up});
}

}  // namespace bora::core
