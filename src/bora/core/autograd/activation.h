// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: activations, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/activation.h"

namespace bora::core::autograd {

/// f(x); f(gate) · up.
at::Tensor activate(Activation f, const at::Tensor& x);
at::Tensor gated(Activation f, const at::Tensor& gate, const at::Tensor& up);

}  // namespace bora::core::autograd
