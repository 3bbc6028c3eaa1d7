// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>

namespace bora::kernels {

/// One matrix of a product, row-major: element (i, j) at data[i·stride + j], or data[j·stride + i] if
/// transposed.
struct MatrixRef {
  const float* data;
  std::int64_t stride;
  bool transposed = false;
  bool is_bf16 = false;  ///< each element is a bfloat16's value: one part where parts are multiplied
};

/// c [m, n] = a [m, k] · b [k, n] + beta · c, fp32. The only matrix product of Bora on CPUs; the kernel
/// behind it is chosen once at start-up. Bits do not depend on the number of threads, with any kernel.
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
            std::int64_t c_stride, float beta = 0.0F);

/// `batch` products of one shape; matrices lie `*_batch` elements apart.
void batched_matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a,
                    std::int64_t a_batch, MatrixRef b, std::int64_t b_batch, float* c, std::int64_t c_stride,
                    std::int64_t c_batch);

/// "amx", "bora" or "mkl": which implementation large products use.
const char* matmul_path();

/// Overrides the choice made from the CPU (matrix units where it has them, else Bora's own vectors with
/// AVX-512 or AVX2, else MKL): for benchmarks, and for machines where that guesses wrong. Bits differ
/// between them. `amx` only where amx_matmul_works(). Call before compute.
enum class MatmulKernel { automatic, mkl, bora, amx };
void set_matmul_kernel(MatmulKernel kernel);

/// For benchmarks: while set, every product is reported with its shape, its sides and its seconds.
using MatmulObserver = void (*)(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                const MatrixRef& a, const MatrixRef& b, double seconds);
void set_matmul_observer(MatmulObserver observer);

}  // namespace bora::kernels
