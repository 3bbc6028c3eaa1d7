// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace bora {

/// Ten rounds of Philox 4x32 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
/// A pure function: four random words for each (counter, key).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// An explicit random key, as in JAX: a value, never hidden state. Keys split and fold; what is drawn with a
/// key depends on (key, global element index) alone: not on shard, thread, or order of drawing.
///
/// Layout: the 64-bit `key` is Philox's key; the 64-bit `stream` is the upper half of its counter; the lower
/// half counts blocks of four words. Low 32 bits come first in both. All of this is part of what a checkpoint
/// means: it never changes.
///
/// Elements: arrays of 32-bit draws use one word each, element i is word i mod 4 of block i / 4. below() and
/// uniform() use 64 bits, words 0 (low) and 1 of block `index`. Do not draw both ways from one key: fold it
/// first.
struct Key {
  std::uint64_t key = 0;
  std::uint64_t stream = 0;

  static Key from_seed(std::uint64_t seed);

  /// A new key that depends on this one and `data`: the block of counter (data, stream) under `key` xor a
  /// constant, as key and stream. Collisions are those of random 128-bit values.
  Key fold(std::uint64_t data) const;
  /// The same with a name (its XXH3-128's low half, another constant), for call sites: key.fold("dropout").
  Key fold(std::string_view name) const;

  template <std::size_t N>
  std::array<Key, N> split() const {
    std::array<Key, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = fold(i);
    return out;
  }

  /// Words 4·block … 4·block+3 of this key's sequence.
  std::array<std::uint32_t, 4> words(std::uint64_t block) const;
  /// Uniform integer in [0, n) (0 for n = 0): floor(u · n / 2^64) for a draw u of 64 bits. Each result has a
  /// probability within 2^-64 of 1/n, so the relative bias is below n · 2^-64.
  std::uint64_t below(std::uint64_t n, std::uint64_t index = 0) const;
  /// Uniform in (0, 1), never 0 nor 1: (v + 1/2) · 2^-52 for the upper 52 bits v of a draw.
  double uniform(std::uint64_t index = 0) const;

  bool operator==(const Key&) const = default;
};

}  // namespace bora
