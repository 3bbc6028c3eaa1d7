// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/stored_matrix.h"

namespace bora::kernels {

/// c [m, outputs] = a [m, inputs] · bᵀ for few rows, on Intel's matrix units (amx_matmul.h, where amx_matmul_works()):
/// lines of b are read once as they lie and are one side, the three bfloat16 parts of a's rows the other, 16 columns at
/// a time. Eight rows take hardly longer than one. As exact as amx_matmul; bits depend on neither the threads nor the
/// number of other rows.
void amx_few_rows_matmul(std::int64_t m, MatrixRef a, const StoredMatrix& b, float* c, std::int64_t c_stride);

}  // namespace bora::kernels
