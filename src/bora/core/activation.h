// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/array.h"

namespace bora::core {

enum class Gate { silu, gelu, gelu_tanh, quick_gelu, relu };
/// act(gate) · up, elementwise; same axes.
Array gated(Gate activation, const Operand& gate, const Operand& up);

}  // namespace bora::core
