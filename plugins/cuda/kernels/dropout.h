// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "numbers.h"

namespace bora::cuda {

/// The two words of a key; where `there` is not null, those that lie at that address of the device.
struct KeyWords {
  std::uint64_t key = 0, stream = 0;
  const std::uint64_t* there = nullptr;
};

/// kernels::dropout with elements of T, float or Bf16: an element is kept where it is on the CPU. `first`: the place of
/// x[0] in the whole array. y may be x. The backward pass is the same of dy.
template <class T>
void dropout(const KeyWords& key, std::int64_t first, std::int64_t n, float p, const T* x, T* y,
             Stream stream);

}  // namespace bora::cuda
