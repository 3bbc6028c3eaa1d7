// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: activations, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/kernels/cpu/activation.h"

namespace bora::core::autograd {

at::Tensor activate(kernels::Activation f, const at::Tensor& x);
at::Tensor gated(kernels::Activation f, const at::Tensor& gate, const at::Tensor& up);

}  // namespace bora::core::autograd
