// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bora::mesh {

/// Elements [begin, end) of one array.
struct Slice {
  std::size_t array = 0;
  std::int64_t begin = 0, end = 0;
  bool operator==(const Slice&) const = default;
};

/// Cuts arrays that lie one after another into one shard for each worker. Shards are equal but for this: they
/// end where an array ends or at a multiple of `chunk` elements from its beginning, so that sums over fixed
/// chunks (norms) do not depend on the number of workers.
class Shards {
 public:
  static constexpr std::int64_t kChunk = 16384;  ///< of the sums of core

  Shards(const std::vector<std::int64_t>& sizes, int workers, std::int64_t chunk = kChunk);

  int workers() const { return static_cast<int>(bounds_.size()) - 1; }
  std::size_t arrays() const { return offsets_.size() - 1; }
  std::int64_t elements() const { return offsets_.back(); }  ///< of all arrays
  /// Where a worker's shard lies among the elements of all arrays.
  std::int64_t begin(int worker) const { return bounds_[static_cast<std::size_t>(worker)]; }
  std::int64_t end(int worker) const { return bounds_[static_cast<std::size_t>(worker) + 1]; }
  std::int64_t size(int worker) const { return end(worker) - begin(worker); }
  std::int64_t largest() const;
  /// A range of the elements of all arrays, array by array.
  std::vector<Slice> slices(std::int64_t begin, std::int64_t end) const;
  std::vector<Slice> slices(int worker) const { return slices(begin(worker), end(worker)); }

 private:
  std::vector<std::int64_t> offsets_;  // of each array, and of the end
  std::vector<std::int64_t> bounds_;   // of each shard, and the end
};

}  // namespace bora::mesh
