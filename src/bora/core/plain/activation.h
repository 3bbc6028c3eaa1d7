// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/activation.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/activation.h"

namespace bora::core::plain {

/// f(x); f(gate) · up. relu takes integers too.
at::Tensor activate(Activation f, const at::Tensor& x);
at::Tensor gated(Activation f, const at::Tensor& gate, const at::Tensor& up);

}  // namespace bora::core::plain
