// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {

/// As matmul, where both sides count as bfloat16: pairs of products of bfloat16 are added to fp32 in one instruction
/// (AVX512-BF16), twice as fast as fp32. Numbers too small to be normal count as zero.
void bf16_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                 std::int64_t c_stride, Store store);

/// Whether this CPU has the instructions. Never when BORA_CPU_TARGET caps the SIMD target.
bool bf16_matmul_works();

}  // namespace bora::kernels
