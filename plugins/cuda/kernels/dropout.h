// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "numbers.h"

namespace bora::cuda {

/// kernels::dropout with the key's two words, and elements of T, float or Bf16: an element is kept where it is
/// on the CPU. `first`: the place of x[0] in the whole array. y may be x. The backward pass is the same of dy.
template <class T>
void dropout(std::uint64_t key, std::uint64_t stream_of_key, std::int64_t first, std::int64_t n, float p,
             const T* x, T* y, Stream stream);

}  // namespace bora::cuda
