// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/activation.h"

#include <ATen/core/Tensor.h>

#include "bora/core/autograd/activation.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {
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
    return space.label(space.local(x).relu(), x.names);
  }
  require_floating(name(f), x);
  return space.label(autograd::activate(f, space.local(x)), x.names);
} catch (...) {
  rethrow(name(f), {x});
}

Array gated(Activation f, const Operand& gate, const Operand& up) try {
  Space space("gated", {gate, up});
  const auto g = space.local(gate);
  auto u = permuted(space.local(up), up.names, gate.names);
  return space.label(autograd::gated(f, g, u), gate.names);
} catch (...) {
  rethrow("gated", {gate, up});
}

}  // namespace bora::core
