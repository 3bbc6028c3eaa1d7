// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/activation_function.h"
#include "bora/core/array.h"

namespace bora::core {

std::string_view name(Activation f);

// These have kernels of their own, forward and backward. On other devices or dtypes they are composed of
// plain ops; the values agree within rounding.

/// f(x), elementwise. Errors: InvalidArgument for elements that are not floating-point (relu: that are bool).
Array activate(Activation f, const Operand& x);
/// f(gate) · up, elementwise; same axes.
Array gated(Activation f, const Operand& gate, const Operand& up);

}  // namespace bora::core
