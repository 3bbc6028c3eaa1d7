// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/permutation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "bora/base/error.h"

namespace bora::data {
namespace {

class Identity final : public Permutation {
 public:
  explicit Identity(std::int64_t size) : Permutation(size) {}
  std::int64_t map(std::int64_t index) const override { return index; }
};

/// Finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of x reaches every bit of the result.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Feistel final : public Permutation {
 public:
  Feistel(std::int64_t size, const Key& key) : Permutation(size) {
    const int bits = std::max(2, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size - 1))));
    low_bits_ = bits / 2;
    low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
    high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
    // The halves of a small domain have few bits to mix with: more rounds until all permutations are about as
    // likely.
    rounds_ = bits < 16 ? kMostRounds : kRounds;
    for (std::size_t i = 0; i < rounds_; i += 2) {
      const auto words = key.words(i / 2);
      keys_[i] = std::uint64_t{words[0]} << 32 | words[1];
      keys_[i + 1] = std::uint64_t{words[2]} << 32 | words[3];
    }
  }

  std::int64_t map(std::int64_t index) const override {
    // The domain is less than twice the size (four times below 4), so that few steps leave the range.
    auto x = static_cast<std::uint64_t>(index);
    do x = encrypt(x);
    while (x >= static_cast<std::uint64_t>(size()));
    return static_cast<std::int64_t>(x);
  }

 private:
  std::uint64_t encrypt(std::uint64_t x) const {
    std::uint64_t low = x & low_mask_, high = x >> low_bits_;
    for (std::size_t i = 0; i < rounds_; i += 2) {
      low ^= mix(high ^ keys_[i]) & low_mask_;
      high ^= mix(low ^ keys_[i + 1]) & high_mask_;
    }
    return high << low_bits_ | low;
  }

  static constexpr std::size_t kRounds = 8, kMostRounds = 32;
  int low_bits_;
  std::size_t rounds_;
  std::uint64_t low_mask_, high_mask_;
  std::array<std::uint64_t, kMostRounds> keys_;
};

class Linear final : public Permutation {
 public:
  Linear(std::int64_t size, const Key& key) : Permutation(size) {
    const auto n = static_cast<std::uint64_t>(size);
    add_ = key.below(n, 0);
    std::uint64_t draw = 1;
    do factor_ = 1 + key.below(n, draw++);
    while (std::gcd(factor_, n) != 1);
  }
  std::int64_t map(std::int64_t index) const override {
    __extension__ using Wide = unsigned __int128;
    const Wide x = static_cast<Wide>(factor_) * static_cast<Wide>(index) + add_;
    return static_cast<std::int64_t>(x % static_cast<Wide>(size()));
  }

 private:
  std::uint64_t factor_, add_;
};

}  // namespace

std::int64_t Permutation::operator()(std::int64_t index) const {
  if (index < 0 || index >= size_) {
    fail(ErrorKind::InvalidArgument, "permutation: position {} is outside of its {}", index, size_);
  }
  return map(index);
}

PermutationPtr identity_permutation(std::int64_t size) { return std::make_unique<Identity>(size); }

PermutationPtr feistel_permutation(std::int64_t size, const Key& key) {
  if (size <= 1) return identity_permutation(size);
  return std::make_unique<Feistel>(size, key);
}

PermutationPtr linear_permutation(std::int64_t size, const Key& key) {
  if (size <= 1) return identity_permutation(size);
  return std::make_unique<Linear>(size, key);
}

}  // namespace bora::data
