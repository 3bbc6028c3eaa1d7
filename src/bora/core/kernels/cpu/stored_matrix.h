// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Matrices of weights in fewer bytes, for what is not trained: a product with few rows takes as long as its
// weights take to read.
#pragma once
#include <cstdint>

#include "bora/core/kernels/cpu/matmul.h"

namespace bora::kernels {

/// Weights [outputs, inputs], row after row, in one of two types.
struct StoredMatrix {
  std::int64_t outputs, inputs;
  const std::uint16_t* bf16 = nullptr;
  const std::int8_t* int8 = nullptr;  ///< times scales[output]
  const float* scales = nullptr;
};

/// One output's weights as int8 of at most 127, and the scale (greatest magnitude / 127, rounded to nearest)
/// with which they are multiplied: off by half a scale at most. Not for values that are not finite.
void store_int8(std::int64_t outputs, std::int64_t inputs, const float* weights, std::int8_t* out,
                float* scales);

/// Outputs [begin, end) in fp32, [end - begin, inputs]; int8 without their scales where `scaled` is false.
void widen(const StoredMatrix& b, std::int64_t begin, std::int64_t end, bool scaled, float* out);

/// c [m, outputs] = a [m, inputs] · bᵀ: a and sums are fp32, weights are widened on their way, or multiplied by parts
/// of a on matrix units. Few rows read b once as it lies; more of them go through matmul(), which is given some outputs
/// at a time. Rows that
/// are kept apart (rows_apart.h) have the bits that each has alone; bits never depend on threads.
void stored_matmul(std::int64_t m, MatrixRef a, const StoredMatrix& b, float* c, std::int64_t c_stride);

}  // namespace bora::kernels
