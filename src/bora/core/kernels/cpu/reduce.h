// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

// Reductions over fixed chunks combined in one fixed order: bits do not depend on the number of threads.

inline constexpr std::int64_t reduce_chunk = 16384;

double sum(std::int64_t n, const float* x);
double sum_of_squares(std::int64_t n, const float* x);
/// Index of the first element that is NaN or infinite, or -1.
std::int64_t first_non_finite(std::int64_t n, const float* x);

/// a += b, the lane tree's only operation.
void add_into(std::int64_t n, float* a, const float* b);
void scale(std::int64_t n, float* x, float by);
void fill(std::int64_t n, float* x, float value);

/// Rounding to nearest even between fp32 and bf16.
void to_bf16(std::int64_t n, const float* x, std::uint16_t* y);
void from_bf16(std::int64_t n, const std::uint16_t* x, float* y);
/// The same on the calling thread alone.
void to_bf16_here(std::int64_t n, const float* x, std::uint16_t* y);
void from_bf16_here(std::int64_t n, const std::uint16_t* x, float* y);

}  // namespace bora::kernels
