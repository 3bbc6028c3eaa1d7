// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: dropout of blocks of arrays, on plain tensors.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "bora/base/key.h"

namespace bora::core {

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

}  // namespace bora::core
