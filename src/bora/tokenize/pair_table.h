// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bora::tokenize {

/// Rank and result of each merge, by the pair of ids it joins: a hash table in one array.
class PairTable {
 public:
  static constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();
  struct Merge {
    std::uint32_t rank = kNoRank;
    std::int32_t result = -1;
  };

  explicit PairTable(std::size_t pairs = 0) {
    std::size_t capacity = 16;
    while (capacity < 2 * pairs) capacity *= 2;
    entries_.resize(capacity);
    mask_ = capacity - 1;
  }

  /// The later of two merges of the same pair wins. At most `pairs` different pairs.
  void set(std::int32_t left, std::int32_t right, Merge merge) {
    Entry& entry = entries_[slot(key(left, right))];
    entry.key = key(left, right);
    entry.merge = merge;
  }

  /// kNoRank if the pair is not joined.
  Merge find(std::int32_t left, std::int32_t right) const { return entries_[slot(key(left, right))].merge; }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // no pair: ids are not negative
  struct Entry {
    std::uint64_t key = kFree;
    Merge merge;
  };
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
           static_cast<std::uint32_t>(right);
  }
  std::size_t slot(std::uint64_t k) const {
    std::size_t i = static_cast<std::size_t>((k * 0x9E3779B97F4A7C15u) >> 20) & mask_;
    while (entries_[i].key != k && entries_[i].key != kFree) i = (i + 1) & mask_;
    return i;
  }
  std::vector<Entry> entries_;
  std::size_t mask_ = 0;
};

}  // namespace bora::tokenize
