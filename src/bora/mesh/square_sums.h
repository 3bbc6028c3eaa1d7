// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "bora/core/mapping.h"
#include "bora/core/read_back.h"

namespace bora::mesh {

/// Ranks that hold shards of some arrays.
struct ShardRanks {
  core::Collectives* ranks;
  std::vector<bool> cut;  ///< by array: each rank has a shard of its own; else all have the same
};

/// Sum of the squares of each array's elements, those of the shards of all ranks, with the bits that one
/// rank with all of them gets (kernels/square_sum.h); not finite where an element is not. An empty array
/// counts as nothing. Collective. The host waits for a device once, and twice where there are shards.
std::vector<double> sums_of_squares(std::span<const core::Array> arrays, std::span<const ShardRanks> shards);

/// The same of arrays without shards, for who has more to read from the device:
///
///     const PendingSquares squares(arrays, read);
///     read.wait();
///     std::vector<double> sums = squares.values(read);
class PendingSquares {
 public:
  PendingSquares(std::span<const core::Array> arrays, core::ReadBack& read);
  std::vector<double> values(const core::ReadBack& read) const;

 private:
  struct Places {
    bool any = false;  // of an array that is not empty
    std::size_t largest = 0, numbers = 0;
    std::size_t index = 0;  // within these
  };
  std::vector<Places> places_;
};

}  // namespace bora::mesh
