// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: sums whose bits do not depend on threads, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

namespace bora::core {

/// Sum of all elements, without dimensions. at::sum splits by thread when one number is left; this adds
/// chunks of 16,384 in one fixed order. 16-bit floats add in fp32; integers give i64.
at::Tensor fixed_sum(const at::Tensor& x);

/// The one element of x repeated to `sizes`; its gradient is a fixed_sum.
at::Tensor expand_one(const at::Tensor& x, at::IntArrayRef sizes);

}  // namespace bora::core
