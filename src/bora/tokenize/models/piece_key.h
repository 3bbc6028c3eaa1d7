// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bora::tokenize {

/// A piece of up to fifteen bytes in two words, for hash tables: its bytes, zeros, and their number in the
/// top byte of the second.
struct PieceKey {
  static constexpr std::size_t kLongest = 15;  ///< bytes

  std::uint64_t low = 0, high = 0;
  bool operator==(const PieceKey&) const = default;

  /// `piece.size()` is at most kLongest; `readable` bytes from its start may be read.
  static PieceKey of(std::string_view piece, std::size_t readable) {
    PieceKey key;
    if (readable >= 16) {
      std::memcpy(&key.low, piece.data(), 8);
      std::memcpy(&key.high, piece.data() + 8, 8);
      const Mask& mask = kMasks[piece.size()];
      key.low &= mask.low;
      key.high &= mask.high;
    } else {
      std::array<char, 16> bytes{};
      std::memcpy(bytes.data(), piece.data(), piece.size());
      std::memcpy(&key.low, bytes.data(), 8);
      std::memcpy(&key.high, bytes.data() + 8, 8);
    }
    key.high |= static_cast<std::uint64_t>(piece.size()) << 56;
    return key;
  }

  /// The piece.
  struct Text {
    std::array<char, 16> bytes;
    std::size_t size;
    std::string_view view() const { return {bytes.data(), size}; }
  };
  Text text() const {
    Text t{};
    std::memcpy(t.bytes.data(), &low, 8);
    std::memcpy(t.bytes.data() + 8, &high, 8);
    t.size = high >> 56;
    return t;
  }

  /// Its upper bits are the better ones.
  std::uint64_t hash() const { return (low ^ (high * 0xC2B2AE3D27D4EB4Fu)) * 0x9E3779B97F4A7C15u; }

 private:
  struct Mask {
    std::uint64_t low, high;
  };
  static constexpr std::array<Mask, 16> kMasks = [] {
    std::array<Mask, 16> masks{};
    for (std::size_t n = 1; n < 16; ++n) {
      masks[n].low = n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * n)) - 1;
      masks[n].high = n <= 8 ? 0 : (std::uint64_t{1} << (8 * (n - 8))) - 1;
    }
    return masks;
  }();
};

}  // namespace bora::tokenize
