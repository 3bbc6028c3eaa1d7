// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once

namespace bora::core {

/// gelu is x · Φ(x), by the error function; gelu_tanh approximates it by tanh, quick_gelu by the logistic
/// function of 1.702 x. silu is also known as swish.
enum class Activation { silu, gelu, gelu_tanh, quick_gelu, relu, sigmoid, tanh };

}  // namespace bora::core
