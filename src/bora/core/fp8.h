// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::core {

/// Types of eight bits: e4m3 up to 448 with three bits of a mantissa, e5m2 up to 57,344 with two.
enum class Fp8 : std::uint8_t { e4m3, e5m2 };

/// While it lives, this thread multiplies in fp8 what linear() and linears() map on a device in bf16: x and the weight
/// in e4m3, gradients of results in e5m2; sums are fp32, and so are gradients of fp32 weights. Each array is scaled
/// by one power of two, which its largest element decides (of an array in shards, that of all of it), so that scaling
/// rounds nothing. The scope is over the backward pass too. Products of sizes that are no multiples of 16 stay bf16, as
/// all others do.
class Fp8Scope {
 public:
  explicit Fp8Scope(bool on = true);  ///< false: not here, inside of another scope
  ~Fp8Scope();
  Fp8Scope(const Fp8Scope&) = delete;
  Fp8Scope& operator=(const Fp8Scope&) = delete;

 private:
  bool before_;
};

/// Whether this thread is in such a scope.
bool in_fp8();

}  // namespace bora::core
