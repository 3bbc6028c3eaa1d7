// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/matmul.h"

#include <omp.h>

#include <chrono>

#include "bora/core/kernels/threads.h"

// Intel MKL inside libtorch_cpu, LP64: Fortran's interface, column-major.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

namespace bora::kernels {
namespace {

MatmulObserver observer = nullptr;

/// Row-major c = a·b is column-major cᵀ = bᵀ·aᵀ: the operands change places.
void mkl(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c, std::int64_t c_stride,
         float beta) {
  const int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
  const int lda = static_cast<int>(b.stride), ldb = static_cast<int>(a.stride), ldc = static_cast<int>(c_stride);
  const float one = 1.0F;
  sgemm_(b.transposed ? "T" : "N", a.transposed ? "T" : "N", &rows, &columns, &inner, &one, b.data, &lda, a.data,
         &ldb, &beta, c, &ldc);
}

}  // namespace

void matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
            std::int64_t c_stride, float beta) {
  mkl(m, n, k, a, b, c, c_stride, beta);
}

void batched_matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a,
                    std::int64_t a_batch, MatrixRef b, std::int64_t b_batch, float* c, std::int64_t c_stride,
                    std::int64_t c_batch) {
  for_chunks(batch, 1, [&](std::int64_t i, std::int64_t) {
    mkl(m, n, k, {a.data + i * a_batch, a.stride, a.transposed}, {b.data + i * b_batch, b.stride, b.transposed},
        c + i * c_batch, c_stride, 0.0F);
  });
}

bool check_matmul_bits(std::int64_t, std::int64_t, std::int64_t, bool, bool) { return true; }

const char* matmul_path() { return "mkl"; }

void set_matmul_observer(MatmulObserver o) { observer = o; }

}  // namespace bora::kernels
