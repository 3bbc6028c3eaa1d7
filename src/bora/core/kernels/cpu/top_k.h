// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// Places of the k greatest elements of each row of x [rows, n], greatest first, equal ones in their order; a NaN counts
/// as greater than all numbers, as for libtorch's sort. k from 1 to n; each element is compared with up to k others.
void top_k(std::int64_t rows, std::int64_t n, std::int64_t k, const float* x, std::int64_t* places);

}  // namespace bora::kernels
