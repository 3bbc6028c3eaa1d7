// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: operations with a backward pass of their own. Gathered, because torch's header for them
// compiles slowly.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "bora/base/key.h"

namespace bora::core {

/// Sum of all elements, without dimensions. at::sum splits by thread when one number is left; this adds
/// chunks of 16,384 in one fixed order. 16-bit floats add in fp32; integers give i64.
at::Tensor fixed_sum(const at::Tensor& x);

/// The one element of x repeated to `sizes`; its gradient is a fixed_sum.
at::Tensor expand_one(const at::Tensor& x, at::IntArrayRef sizes);

/// Where a block lies in a whole array of `sizes`: element i along dimension d is first[d] + i of the whole.
/// Both empty: it is the whole.
struct BlockOf {
  std::vector<std::int64_t> sizes, first;

  /// (first element in the block, its place in the whole, how many)
  using Run = std::function<void(std::int64_t, std::int64_t, std::int64_t)>;
  /// Runs of elements that are neighbours in both, row-major; `own`: sizes of the block.
  void each_run(at::IntArrayRef own, const Run& run) const;
};

/// Dropout of the elements of a block of an array, by their row-major places in the whole; the backward pass
/// draws the same mask again and keeps nothing.
at::Tensor dropout(const at::Tensor& x, double p, Key key, const BlockOf& block);

/// Softmax, or its logarithm, over the last dimension.
at::Tensor softmax_last(const at::Tensor& x, bool log);

/// base^exponent, of the same sizes.
at::Tensor power(const at::Tensor& base, const at::Tensor& exponent);

}  // namespace bora::core
