// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/kernels/cpu/matmul.h"
#include "bora/core/kernels/cpu/stored_matrix.h"

namespace bora::kernels {

/// c [m, n] = a [m, k] · b [k, n] for few rows: b, which is nearly all of what is read, is read once, as it
/// lies, without packing. Every element is summed over k in one fixed order, so its bits depend on neither
/// the threads nor the number of other rows.
void few_rows_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                     std::int64_t c_stride);

/// The same for c [m, outputs] = a [m, inputs] · bᵀ, b as it is stored.
void few_rows_matmul(std::int64_t m, MatrixRef a, const StoredMatrix& b, float* c, std::int64_t c_stride);

}  // namespace bora::kernels
