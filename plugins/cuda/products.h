// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Products with an activation in them, by cuBLASLt (https://docs.nvidia.com/cuda/cublas, "cublasLtEpilogue_t").
#pragma once
#include <cstdint>

#include "matrix_library.h"

namespace bora::cuda {

/// Of matrices in bf16, rows one behind the other: cuBLASLt, which reads columns, sees each of them turned.
struct ActivatedForward {  ///< z = x · weight^T + bias, y = gelu_tanh(z)
  std::int64_t rows, n, k;
  const void* x;       ///< [rows, k]
  const void* weight;  ///< [n, k]
  const void* bias;    ///< [n], or null
  void* z;             ///< [rows, n]
  void* y;             ///< [rows, n]
};
struct ActivatedBackward {  ///< dz = (dy · weight) · gelu_tanh'(z)
  std::int64_t rows, n, m;
  const void* dy;      ///< [rows, m]
  const void* weight;  ///< [m, n]
  const void* z;       ///< [rows, n]
  void* dz;            ///< [rows, n]
};

/// Bytes that such a product may work in. What kernels that sum in one piece ask for; no others are taken.
constexpr std::int64_t kProductRoom = std::int64_t{4} << 20;

/// Starts the product on the stream of the current device; false, and nothing is done, where the library has no way for
/// such sizes and addresses, which it is asked for once, or refuses to go it. Throws what else the library says at a start.
bool activated(const MatrixLibrary& library, const ActivatedForward& product, void* room,
               cudaStream_t stream);
bool activated(const MatrixLibrary& library, const ActivatedBackward& product, void* room,
               cudaStream_t stream);

}  // namespace bora::cuda
