// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/array.h"

namespace bora::core {

/// gelu is x · Φ(x), by the error function; gelu_tanh approximates it by tanh, quick_gelu by the logistic
/// function of 1.702 x. silu is also known as swish.
enum class Activation { silu, gelu, gelu_tanh, quick_gelu, relu, sigmoid, tanh };
std::string_view name(Activation f);

// These have kernels of their own, forward and backward. On other devices or dtypes they are composed of
// plain ops; the values agree within rounding.

/// f(x), elementwise. Errors: InvalidArgument for elements that are not floating-point (relu: that are bool).
Array activate(Activation f, const Operand& x);
/// f(gate) · up, elementwise; same axes.
Array gated(Activation f, const Operand& gate, const Operand& up);

}  // namespace bora::core
