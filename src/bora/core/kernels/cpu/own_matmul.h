// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {

/// Bora's own product: packed panels and register tiles (Goto and van de Geijn 2008). Every element is summed
/// over fixed blocks of k in one order, so its bits depend on neither the threads nor the other rows and
/// columns.
void own_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                std::int64_t c_stride, float beta);

/// Whether the own product is faster here than MKL's: with AVX-512 and with AVX2, whoever made the CPU.
bool own_matmul_is_fast();

}  // namespace bora::kernels
