// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/whole_index.h"

namespace bora::mesh {

/// How an array lies on workers: cut along one dimension into consecutive shards, one for each worker (equal
/// ones where the size divides, else they differ by one), or whole on all.
class AxisCut {
 public:
  AxisCut() = default;  ///< whole
  /// Along dimension `dim` of an array of `sizes`.
  AxisCut(std::span<const std::int64_t> sizes, int dim, int workers);
  /// Along the first of `axes` that the array has; whole if it has none, or with one worker.
  static AxisCut along(std::span<const std::string> axes, core::Names names,
                       std::span<const std::int64_t> sizes, int workers);

  bool replicated() const { return dim_ < 0; }
  int dim() const { return dim_; }
  int workers() const { return workers_; }
  /// Of the dimension: worker w has [begin(w), end(w)).
  std::int64_t begin(int worker) const { return axis_ * worker / workers_; }
  std::int64_t end(int worker) const { return begin(worker + 1); }
  std::int64_t elements(int worker) const { return outer_ * (end(worker) - begin(worker)) * inner_; }
  std::int64_t elements() const { return outer_ * axis_ * inner_; }
  std::vector<std::int64_t> sizes(int worker) const;
  const std::vector<std::int64_t>& sizes() const { return sizes_; }  ///< of the whole array
  /// A worker's shard is one run of the whole array's elements.
  bool contiguous() const { return outer_ == 1; }

  /// Where the elements of a worker's shard stand in the whole array.
  kernels::WholeIndex::Cut place(int worker) const {
    return {(end(worker) - begin(worker)) * inner_, axis_ * inner_, begin(worker) * inner_};
  }

  // Shards are contiguous, in the order of the array's dimensions. Arrays (fp32) on any device:
  void extract(int worker, const core::Array& whole, core::Array& shard) const;
  void insert(int worker, const core::Array& shard, core::Array& whole) const;
  // The same in host memory.
  void extract(int worker, const float* whole, float* shard) const;
  void insert(int worker, const float* shard, float* whole) const;

 private:
  std::vector<std::int64_t> sizes_;
  int dim_ = -1, workers_ = 1;
  std::int64_t outer_ = 1, axis_ = 1, inner_ = 1;
};

}  // namespace bora::mesh
