// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {

/// The product on Intel's matrix units (AMX: Sapphire Rapids and later), which multiply bfloat16 and add up
/// in fp32, sixteen times as fast as vectors multiply fp32. Each fp32 factor is split exactly into three
/// bfloat16 parts, x = x₀ + x₁ + x₂, and six products of parts are summed; the three that are left out are
/// below half a unit in the last place of a·b (Henry, Tang and Heinecke 2019). From k = 16 on the error is
/// below that of a chain of fp32, about half of it; up to twice it where magnitudes in a sum differ by 2^60.
/// Where both sides hold bfloat16 values (MatrixRef::is_bf16) one product is enough, and exact but for the
/// sum; where b does, three are. What differs from fp32's own arithmetic: where a factor is infinite the result is a NaN, a magnitude
/// above 3.389e38 counts as infinite, and parts and products below 1.18e-38 count as zero. Bits depend on
/// neither the threads nor the other rows and columns.
void amx_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                std::int64_t c_stride, Store store);

/// Whether this CPU has matrix units for bfloat16, the operating system lets this process use them, and
/// nothing caps the instruction set (cap_simd_target). The first call asks the operating system for them.
bool amx_matmul_works();

}  // namespace bora::kernels
