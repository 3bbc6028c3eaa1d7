// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bora::tokenize {

/// The rank of each merge, by the pair of ids it joins: a hash table in one array.
class PairTable {
 public:
  static constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

  explicit PairTable(std::size_t pairs = 0)
      : entries_(std::bit_ceil(std::max<std::size_t>(pairs + pairs / 2, 16))),
        mask_(entries_.size() - 1),
        shift_(std::countl_zero(static_cast<std::uint64_t>(mask_))) {}

  /// The later of two ranks of the same pair wins. At most `pairs` different pairs; ids are not negative.
  void set(std::int32_t left, std::int32_t right, std::uint32_t rank) {
    Entry& entry = entries_[slot(left, right)];
    entry = {left, right, rank};
  }

  /// kNoRank if the pair is not joined.
  std::uint32_t find(std::int32_t left, std::int32_t right) const { return entries_[slot(left, right)].rank; }

 private:
  struct Entry {  // twelve bytes: a vocabulary's merges should fit into the processor's caches
    std::int32_t left = -1, right = -1;
    std::uint32_t rank = kNoRank;
  };
  std::size_t slot(std::int32_t left, std::int32_t right) const {
    const auto low = static_cast<std::uint64_t>(static_cast<std::uint32_t>(left));
    const auto high = static_cast<std::uint64_t>(static_cast<std::uint32_t>(right));
    std::size_t i = static_cast<std::size_t>(((low << 32 | high) * 0x9E3779B97F4A7C15u) >> shift_);
    for (;; i = (i + 1) & mask_) {
      const Entry& e = entries_[i];
      if ((e.left == left && e.right == right) || e.left < 0) return i;
    }
  }

  std::vector<Entry> entries_;
  std::size_t mask_;
  int shift_;
};

}  // namespace bora::tokenize
