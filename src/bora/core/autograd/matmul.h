// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: matrix products, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace bora::core::autograd {

/// a [m, k] · b [k, n] (+ bias [n]), or with a leading batch dimension on both. Any strides.
at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& bias);

}  // namespace bora::core::autograd
