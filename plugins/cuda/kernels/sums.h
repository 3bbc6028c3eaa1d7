// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/device_lists.h"
#include "threads.h"

namespace bora::cuda {

/// into += from, of each of `count` pairs of arrays: the additions of the lane tree.
void add_into(std::int64_t count, const kernels::Added* arrays, Stream stream);

// Sums of squares: exact whole numbers, so that they are the same for any order and any cut of the array. As
// core/kernels/cpu/square_sum.h, of which square_numbers gives the Numbers.

/// *largest, 0 before: the largest |x|, or NaN if an element is not finite; of each of `count` arrays.
void max_abs(std::int64_t count, const kernels::Measured* arrays, Stream stream);
/// numbers [4], 0 before, of each, where max_abs has written `largest`. Of no meaning where that is NaN.
void square_numbers(std::int64_t count, const kernels::Measured* arrays, Stream stream);

}  // namespace bora::cuda
