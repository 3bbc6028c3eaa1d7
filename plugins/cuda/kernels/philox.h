// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "threads.h"

namespace bora::cuda {

struct Words {
  std::uint32_t w[4];
};

namespace detail {
__device__ inline void multiply(std::uint32_t a, std::uint32_t by, std::uint32_t& high, std::uint32_t& low) {
  const std::uint64_t product = std::uint64_t{a} * by;
  high = static_cast<std::uint32_t>(product >> 32);
  low = static_cast<std::uint32_t>(product);
}

}  // namespace detail

/// Key::words (base/key.h): ten rounds of Philox 4x32.
__device__ inline Words philox(std::uint64_t key, std::uint64_t stream, std::uint64_t block) {
  std::uint32_t w0 = static_cast<std::uint32_t>(block), w1 = static_cast<std::uint32_t>(block >> 32),
                w2 = static_cast<std::uint32_t>(stream), w3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint32_t high0, low0, high1, low1;
    detail::multiply(w0, 0xD2511F53U, high0, low0);
    detail::multiply(w2, 0xCD9E8D57U, high1, low1);
    w0 = high1 ^ w1 ^ k0;
    w1 = low1;
    w2 = high0 ^ w3 ^ k1;
    w3 = low0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{w0, w1, w2, w3}};
}

}  // namespace bora::cuda
