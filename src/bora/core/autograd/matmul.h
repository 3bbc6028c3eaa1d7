// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: matrix products, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "bora/core/autograd/factor.h"

namespace bora::core::autograd {

/// Whether x, a matrix or a batch of them, lies column after column, as a weight that is passed transposed does. Its
/// gradient is made so too: nothing is copied when it is stored.
inline bool lies_by_columns(const at::Tensor& x) {
  const auto d = x.dim();
  return x.stride(d - 2) == 1 && x.stride(d - 1) >= x.size(d - 2) && x.size(d - 1) > 1;
}

/// a [m, k] · b [k, n] (+ bias [n]), or with a leading batch dimension on both. Any strides.
at::Tensor matmul(const at::Tensor& a, const Factor& b, const std::optional<Factor>& bias);
inline at::Tensor matmul(const at::Tensor& a, const at::Tensor& b) {
  return matmul(a, Factor{b}, std::nullopt);
}

}  // namespace bora::core::autograd
