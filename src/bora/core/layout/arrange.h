// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Axes in another order, joined or split, before and after the kernels that see matrices: nothing is called
// where nothing changes.
#pragma once
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/permute_ops.h>
#include <ATen/ops/reshape_ops.h>

#include <cstdint>
#include <vector>

#include "bora/core/layout/layout.h"

namespace bora::core {

/// x, whose axes are `from`, with the axes `to`: the same in another order.
inline at::Tensor permuted(const at::Tensor& x, Names from, Names to) {
  std::vector<std::int64_t> order;
  bool same = true;
  for (auto axis : to) {
    order.push_back(find(from, axis));
    same = same && order.back() == static_cast<std::int64_t>(order.size()) - 1;
  }
  return same ? x : at::_ops::permute::call(x, order);
}

inline at::Tensor reshaped(const at::Tensor& x, const std::vector<std::int64_t>& sizes) {
  return x.sizes() == at::IntArrayRef(sizes) ? x
                                             : at::_ops::reshape::call(x, c10::fromIntArrayRefSlow(sizes));
}

/// How many elements this worker has along the axes `names` together.
inline std::int64_t product(const Space& space, Names names) {
  std::int64_t n = 1;
  for (auto axis : names) n *= space.part(axis);
  return n;
}

/// This worker's size of each.
inline std::vector<std::int64_t> sizes_of(const Space& space, Names names) {
  std::vector<std::int64_t> out;
  for (auto axis : names) out.push_back(space.part(axis));
  return out;
}

}  // namespace bora::core
