// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

#include "numbers.h"

namespace bora::cuda {

// Norms of the rows of x [rows, n], with the sum before them in the same pass: T is float or Bf16, the rest
// fp32. Pointers that may be null are said so. The order of sums depends on n alone, that of sums over rows on
// `rows` too.

template <class T>
struct NormForward {
  std::int64_t rows, n;
  const T* x;
  const T* residual;    ///< null, or added to x first
  const float* weight;  ///< [n] or null
  const float* bias;    ///< [n] or null
  float eps;
  T* sum;       ///< of x and residual, rounded to T; the norm is that of it. Null without a residual
  T* y;         ///< may be x
  float* mean;  ///< [rows]; null for an RMS norm
  float* rstd;  ///< [rows]
  float* largest = nullptr;  ///< null, or raised to the largest |element| of y
};
/// y = sum / sqrt(mean(sum²) + eps) · weight
template <class T>
void rms_norm_forward(const NormForward<T>& a, Stream stream);
/// y = (sum - mean) / sqrt(var + eps) · weight + bias
template <class T>
void layer_norm_forward(const NormForward<T>& a, Stream stream);

template <class T>
struct NormBackward {
  std::int64_t rows, n;
  const T* x;  ///< what was normalised: the forward's `sum` where it had a residual
  const float* weight;
  const float* mean;
  const float* rstd;
  const T* dy;
  const T* dsum;             ///< null, or added to dx: the gradient that comes to the sum by other ways
  T* dx;                     ///< may be dy; of the residual it is the same
  float* dweight;            ///< [n] or null
  float* dbias;              ///< [n] or null
  float* room;               ///< norm_backward_room() floats; null if dweight and dbias are
  float* largest = nullptr;  ///< null, or raised to the largest |element| of dx
};
template <class T>
void rms_norm_backward(const NormBackward<T>& a, Stream stream);
template <class T>
void layer_norm_backward(const NormBackward<T>& a, Stream stream);
/// For sums over parts of the rows, of both dweight and dbias.
std::int64_t norm_backward_room(std::int64_t rows, std::int64_t n);

}  // namespace bora::cuda
