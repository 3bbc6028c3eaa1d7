// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bora/tokenize/models/piece_key.h"

namespace bora::tokenize {

/// What one thread remembers of the pieces it has met: their ids. It grows with them up to about 16 MB; then
/// the older entry of a full bucket goes. Purely for speed: a piece that is not remembered is computed again.
class PieceCache {
 public:
  static constexpr std::size_t kLongest = 255;  ///< bytes of the longest piece worth remembering
  static constexpr std::size_t kIds = 4;        ///< of a short piece

  PieceCache() : short_(kFirstBuckets) {}

  /// Where find() will look: known ahead of time, it can be fetched while others are worked on.
  const void* place(const PieceKey& key) const { return &short_[bucket_of(key)]; }

  /// Writes four ids, of which as many count as it returns, to `out`; kAbsent if the piece is not there,
  /// kLong if it is among the long ones.
  static constexpr int kAbsent = -1, kLong = 15;
  int find(const PieceKey& key, std::int32_t* out) const {
    const Bucket& bucket = short_[bucket_of(key)];
    for (const Entry& e : bucket.entries) {
      if (e.low != key.low || (e.high & ~kCountBits) != key.high) continue;
      std::memcpy(out, e.ids.data(), sizeof(e.ids));
      return static_cast<int>(e.high >> 60);
    }
    return kAbsent;
  }
  /// Remembers the ids; more than four among the long ones.
  void put(const PieceKey& key, const std::int32_t* ids, std::size_t count);

  /// The same for pieces of more than PieceKey::kLongest bytes. What is found lives until the next
  /// put_long().
  struct Ids {
    const std::int32_t* ids = nullptr;  ///< null: not there
    std::size_t count = 0;
  };
  Ids find_long(std::string_view piece) const;
  void put_long(std::string_view piece, const std::int32_t* ids, std::size_t count);

 private:
  static constexpr std::size_t kFirstBuckets = std::size_t{1} << 13, kMostBuckets = std::size_t{1} << 17;
  static constexpr std::size_t kLongSlots = std::size_t{1} << 16;
  static constexpr std::size_t kArena = std::size_t{1} << 22;  // bytes of long pieces; and of their ids
  static constexpr std::uint64_t kCountBits = std::uint64_t{0xF0} << 56;

  // A key and four ids, whose number stands in the top bits of `high`: two entries share a cache line.
  struct Entry {
    std::uint64_t low = 0, high = 0;
    std::array<std::int32_t, kIds> ids{};
  };
  struct alignas(64) Bucket {
    std::array<Entry, 2> entries;
  };
  struct LongEntry {
    std::uint64_t hash = 0;
    std::uint32_t key = 0, key_size = 0, ids = 0, id_count = 0;
  };

  std::size_t bucket_of(const PieceKey& key) const { return key.hash() >> shift_; }
  void grow();
  static std::size_t long_slot(std::uint64_t hash) { return (hash >> 20) & (kLongSlots - 1); }

  std::vector<Bucket> short_;
  int shift_ = std::countl_zero(kFirstBuckets - 1);
  std::size_t puts_ = 0;
  std::vector<LongEntry> long_;
  std::string keys_;
  std::vector<std::int32_t> ids_;
};

/// This thread's cache for the tokenizer with this number; a thread keeps those of the few it used last, and
/// leaves them to threads that start later.
PieceCache& thread_piece_cache(std::uint64_t tokenizer);

}  // namespace bora::tokenize
