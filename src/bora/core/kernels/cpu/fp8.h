// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/fp8.h"

namespace bora::kernels {

using core::Fp8;

/// The largest number of a format.
float largest_of(Fp8 format);
/// To the nearest, ties to even; beyond the largest number that one; NaN stays NaN.
std::uint8_t to_fp8(float x, Fp8 format);
float from_fp8(std::uint8_t x, Fp8 format);
/// The exponent of the power of two that scales an array whose largest |element| is `largest` into the format's
/// range, 0 of zeros, at most 126 so that its inverse is a normal number.
int fp8_exponent(float largest, Fp8 format);

/// y [rows, n] and turned [n, rows], of which one may be null: x times the scale; NaN where `largest` is NaN. The result is
/// 1 / scale.
float quantize(std::int64_t rows, std::int64_t n, const float* x, float largest, Fp8 format, std::uint8_t* y,
               std::uint8_t* turned);

}  // namespace bora::kernels
