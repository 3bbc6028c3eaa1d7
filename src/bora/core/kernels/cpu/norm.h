// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/values.h"

namespace bora::kernels {

// Normalisation over the last, contiguous dimension: x [rows, n]. `weight` and `bias` [n] may be null.
// Column sums (dweight, dbias) are taken over fixed row chunks, so bits do not depend on threads.

/// y = x · rstd · weight,  rstd = 1/sqrt(mean(x²) + eps); `rstd` [rows] is kept for the backward pass.
void rms_norm_forward(std::int64_t rows, std::int64_t n, Values x, const float* weight, float eps, Results y,
                      float* rstd);
/// dx is written; dweight (null if there is no weight) is written.
void rms_norm_backward(std::int64_t rows, std::int64_t n, Values x, const float* weight, const float* rstd,
                       Values dy, Results dx, float* dweight);

/// y = (x - mean) · rstd · weight + bias, biased variance. `mean`, `rstd` [rows].
void layer_norm_forward(std::int64_t rows, std::int64_t n, Values x, const float* weight, const float* bias,
                        float eps, Results y, float* mean, float* rstd);
void layer_norm_backward(std::int64_t rows, std::int64_t n, Values x, const float* weight, const float* mean,
                         const float* rstd, Values dy, Results dx, float* dweight, float* dbias);

/// out [n] = sum over rows of x [rows, n], in fixed chunks.
void column_sums(std::int64_t rows, std::int64_t n, Values x, float* out);

}  // namespace bora::kernels
