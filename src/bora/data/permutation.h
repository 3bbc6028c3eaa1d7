// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>

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

}  // namespace bora::data
