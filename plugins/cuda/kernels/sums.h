// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "threads.h"

namespace bora::cuda {

/// into += from, of n elements: the additions of the lane tree.
void add_into(std::int64_t n, float* into, const float* from, Stream stream);

// Sums of squares: exact whole numbers, so that they are the same for any order and any cut of the array. As
// core/kernels/cpu/square_sum.h, of which square_numbers gives the Numbers.

/// *out, 0 before: the largest |x|, or NaN if an element is not finite.
void max_abs(std::int64_t n, const float* x, float* out, Stream stream);
/// out [4], 0 before; `largest`: what max_abs wrote. Of no meaning where that is NaN.
void square_numbers(std::int64_t n, const float* x, const float* largest, double* out, Stream stream);

}  // namespace bora::cuda
