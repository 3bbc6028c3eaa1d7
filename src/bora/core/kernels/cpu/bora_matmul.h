// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {

/// Bora's own product: packed panels and register tiles (Goto and van de Geijn 2008). Every element is summed
/// over fixed blocks of k in one order, so its bits depend on neither the threads nor the other rows and
/// columns.
void bora_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                 std::int64_t c_stride, Store store);

/// Whether it is faster here than MKL's: with AVX-512 and with AVX2, whoever made the CPU.
bool bora_matmul_is_fast();

}  // namespace bora::kernels
