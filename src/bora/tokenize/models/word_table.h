// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/piece_key.h"

namespace bora::tokenize {

/// The pieces that are one token each, by their bytes: most words of a text are found here without a look at
/// a merge. It follows from the vocabulary alone, and all threads share it.
class WordTable {
 public:
  static constexpr std::int32_t kNone = -1;

  /// Room for `words`.
  explicit WordTable(std::size_t words = 0);

  /// A piece that is not there yet; 0 <= id < 2^24.
  void add(std::string_view piece, std::int32_t id);

  /// Where find() will look first: known ahead of time, it can be fetched while others are worked on.
  const void* place(const PieceKey& key) const { return &entries_[slot_of(key)]; }
  /// Of a piece with this key.
  std::int32_t find(const PieceKey& key) const {
    const std::uint64_t tail = tail_of(key);
    if (key.high >> 56 > kInline) return find_long(key.text().view());
    for (std::size_t i = slot_of(key);; i = (i + 1) & mask_) {
      const Entry& e = entries_[i];
      if (e.low == key.low && (e.tail & kTailBits) == tail) return static_cast<std::int32_t>(e.tail >> 40);
      if (e.tail == 0) return kNone;
    }
  }
  /// Of one of more than PieceKey::kLongest bytes.
  std::int32_t find_long(std::string_view piece) const {
    return piece.size() > longest_ ? kNone : find_any(piece);
  }

 private:
  // Twelve bytes of text, their number and the id in sixteen: four to a cache line. Longer pieces are rare.
  static constexpr std::size_t kInline = 12;
  static constexpr std::uint64_t kTailBits = (std::uint64_t{1} << 40) - 1;
  struct Entry {
    std::uint64_t low = 0;
    std::uint64_t tail = 0;  // bytes 8 to 11, their number, and the id from bit 40 on; 0: free
  };
  struct Long {
    std::uint32_t begin = 0, size = 0;  // in texts_; size 0: free
    std::int32_t id = kNone;
  };

  static std::uint64_t tail_of(const PieceKey& key) {
    return (key.high & 0xFFFFFFFFu) | (key.high >> 56 << 32);
  }
  std::size_t slot_of(const PieceKey& key) const { return static_cast<std::size_t>(key.hash() >> shift_); }
  std::int32_t find_any(std::string_view piece) const;
  std::size_t long_slot(std::string_view piece) const;
  void grow_long();

  std::vector<Entry> entries_;
  std::size_t mask_ = 0;
  int shift_ = 0;
  std::string texts_;
  std::vector<Long> long_;  // open addressing
  std::size_t long_count_ = 0, longest_ = 0;
};

}  // namespace bora::tokenize
