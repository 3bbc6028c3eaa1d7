// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: operations with a backward pass of their own. Gathered, because torch's header for them
// compiles slowly.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/base/key.h"

namespace bora::core {

/// Sum of all elements, without dimensions. at::sum splits by thread when one number is left; this adds
/// chunks of 16,384 in one fixed order. 16-bit floats add in fp32; integers give i64.
at::Tensor fixed_sum(const at::Tensor& x);

/// The one element of x repeated to `sizes`; its gradient is a fixed_sum.
at::Tensor expand_one(const at::Tensor& x, at::IntArrayRef sizes);

/// Dropout of x's elements in row-major order; the backward pass draws the same mask again and keeps nothing.
at::Tensor dropout(const at::Tensor& x, double p, Key key);

/// Softmax, or its logarithm, over the last dimension.
at::Tensor softmax_last(const at::Tensor& x, bool log);

/// base^exponent, of the same sizes.
at::Tensor power(const at::Tensor& base, const at::Tensor& exponent);

}  // namespace bora::core
