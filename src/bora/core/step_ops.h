// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a training step does with whole arrays beside differentiation: fp32, contiguous, in place, not
// recorded. On the CPU with kernels whose bits do not depend on the number of threads.
#pragma once
#include <cstdint>

#include "bora/core/array.h"

namespace bora::kernels {
struct AdamW;
class SquareSum;
}  // namespace bora::kernels

namespace bora::core {

// Errors of all: InvalidArgument for arrays that are not fp32 and contiguous, or differ in their number of
// elements or their device.

/// kernels::adamw on arrays.
void adamw(const kernels::AdamW& step, Array& parameter, const Array& gradient, Array& mean, Array& square);
/// into += from: the only operation of the lane tree.
void add_into(Array& into, const Array& from);
/// into = keep · into + factor · from
void add_scaled(Array& into, float factor, const Array& from, float keep = 1);

/// The largest |x|; 0 of nothing. NaN if an element is infinite or NaN.
float max_abs(const Array& x);
/// Adds the squares of x's elements, exactly: the order of additions does not matter, on no device.
void add_squares(kernels::SquareSum& sum, const Array& x);
/// Place in row-major order of the first element that is NaN or infinite, or -1.
std::int64_t first_non_finite(const Array& x);

}  // namespace bora::core
