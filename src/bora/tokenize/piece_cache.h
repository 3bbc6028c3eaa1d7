// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::tokenize {

/// What one thread remembers of the pieces it has met: their ids. Bounded (about 5 MB); the older entry of a
/// full bucket goes. Purely for speed: a piece that is not remembered is computed again.
class PieceCache {
 public:
  static constexpr std::size_t kLongest = 255;  ///< bytes of the longest piece worth remembering

  PieceCache() : short_(kBuckets), long_(kLongSlots) {}

  /// Appends the ids of `piece`, computed by compute(piece, out) unless remembered. `readable` bytes from its
  /// start may be read.
  template <class Compute>
  void append(std::string_view piece, std::size_t readable, std::vector<std::int32_t>& out,
              Compute&& compute) {
    if (piece.size() < 16) {
      append_short(key_of(piece, readable), piece, out, compute);
    } else {
      append_long(piece, out, compute);
    }
  }

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 15;
  static constexpr std::size_t kLongSlots = std::size_t{1} << 14;
  static constexpr std::size_t kArena = std::size_t{1} << 20;

  // Fifteen bytes and their number are the key; four ids and their number the value, so that two entries
  // share a cache line.
  struct Key {
    std::uint64_t low = 0,
                  high = 0;  // the top byte of `high`: length, and (stored) the number of ids times 16
  };
  struct Entry {
    std::uint64_t low = 0, high = 0;
    std::int32_t ids[4] = {};
  };
  struct alignas(64) Bucket {
    Entry entries[2];
  };
  struct LongEntry {
    std::uint64_t hash = 0;
    std::uint32_t key = 0, key_size = 0, ids = 0, id_count = 0;
  };

  static constexpr std::uint64_t kCountBits = std::uint64_t{0xF0} << 56;

  static Key key_of(std::string_view piece, std::size_t readable) {
    Key key;
    if (readable >= 16) {
      std::memcpy(&key.low, piece.data(), 8);
      std::memcpy(&key.high, piece.data() + 8, 8);
      const std::size_t n = piece.size();
      if (n < 8) key.low &= (std::uint64_t{1} << (8 * n)) - 1;
      key.high = n <= 8 ? 0 : key.high & ((std::uint64_t{1} << (8 * (n - 8))) - 1);
    } else {
      char bytes[16] = {};
      std::memcpy(bytes, piece.data(), piece.size());
      std::memcpy(&key.low, bytes, 8);
      std::memcpy(&key.high, bytes + 8, 8);
    }
    key.high |= static_cast<std::uint64_t>(piece.size()) << 56;
    return key;
  }

  template <class Compute>
  void append_short(const Key& key, std::string_view piece, std::vector<std::int32_t>& out,
                    Compute& compute) {
    const std::uint64_t mixed = (key.low ^ (key.high * 0xC2B2AE3D27D4EB4Fu)) * 0x9E3779B97F4A7C15u;
    Bucket& bucket = short_[(mixed >> 40) & (kBuckets - 1)];
    for (const Entry& e : bucket.entries) {
      if (e.low != key.low || (e.high & ~kCountBits) != key.high) continue;
      const std::size_t count = e.high >> 60;
      const std::size_t before = out.size();
      if (out.capacity() < before + 4) out.reserve(2 * before + 64);
      out.insert(out.end(), e.ids, e.ids + 4);
      out.resize(before + count);
      return;
    }
    const std::size_t before = out.size();
    compute(piece, out);
    const std::size_t count = out.size() - before;
    if (count > 4) return;
    bucket.entries[1] = bucket.entries[0];
    Entry& e = bucket.entries[0];
    e = {key.low, key.high | (static_cast<std::uint64_t>(count) << 60), {}};
    for (std::size_t i = 0; i < count; ++i) e.ids[i] = out[before + i];
  }

  template <class Compute>
  void append_long(std::string_view piece, std::vector<std::int32_t>& out, Compute& compute) {
    if (piece.size() > kLongest) return compute(piece, out);
    const std::uint64_t hash = std::hash<std::string_view>{}(piece);
    LongEntry& e = long_[(hash >> 20) & (kLongSlots - 1)];
    if (e.hash == hash && std::string_view(keys_).substr(e.key, e.key_size) == piece) {
      const std::size_t before = out.size();
      out.resize(before + e.id_count);
      std::memcpy(out.data() + before, ids_.data() + e.ids, e.id_count * sizeof(std::int32_t));
      return;
    }
    const std::size_t before = out.size();
    compute(piece, out);
    if (keys_.size() + piece.size() > kArena || ids_.size() + out.size() - before > kArena / 4) {
      keys_.clear();
      ids_.clear();
      long_.assign(kLongSlots, {});
    }
    e = {hash, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(piece.size()),
         static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(out.size() - before)};
    keys_ += piece;
    ids_.insert(ids_.end(), out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  }

  std::vector<Bucket> short_;
  std::vector<LongEntry> long_;
  std::string keys_;
  std::vector<std::int32_t> ids_;
};

/// This thread's cache for the tokenizer with this number; a thread keeps those of the few it used last.
PieceCache& thread_piece_cache(std::uint64_t tokenizer);

}  // namespace bora::tokenize
