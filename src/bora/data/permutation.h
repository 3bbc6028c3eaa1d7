// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "bora/base/key.h"

namespace bora::data {

/// A bijection of [0, size()) that needs no memory: position to element in O(1), so that seeking and resuming
/// cost nothing. Any number of threads may call it.
class Permutation {
 public:
  virtual ~Permutation() = default;
  std::int64_t size() const { return size_; }
  /// Errors: InvalidArgument outside of [0, size()).
  std::int64_t operator()(std::int64_t index) const;

 protected:
  explicit Permutation(std::int64_t size) : size_(size) {}
  virtual std::int64_t map(std::int64_t index) const = 0;

 private:
  std::int64_t size_;
};

using PermutationPtr = std::unique_ptr<const Permutation>;

/// In order.
PermutationPtr identity_permutation(std::int64_t size);

/// A pseudorandom permutation: an alternating Feistel network over the next power of two, eight rounds, with
/// cycle walking (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
PermutationPtr feistel_permutation(std::int64_t size, const Key& key);

/// (a * x + b) mod size with random a and b. Weak: neighbours stay at a fixed distance. For comparison with
/// Levanter.
PermutationPtr linear_permutation(std::int64_t size, const Key& key);

/// What a shuffle does with the order of a dataset.
struct Shuffle {
  enum class Kind {
    None,   ///< in order
    Full,   ///< over everything
    Era,    ///< within eras of `era_length` sequences, which stay in order
    Block,  ///< whole blocks of `io_block` over everything, then sequences within windows of `window_blocks`
            ///< blocks; the last, incomplete block stays last: random enough, and kind to slow disks
  };
  Kind kind = Kind::None;
  std::string permutation = "feistel";  ///< or "linear"
  std::int64_t era_length = 0;
  std::int64_t io_block = 256;
  std::int64_t window_blocks = 512;
  bool reshuffle_each_epoch = true;
};

PermutationPtr make_permutation(const Shuffle& shuffle, std::int64_t size, const Key& key);

}  // namespace bora::data
