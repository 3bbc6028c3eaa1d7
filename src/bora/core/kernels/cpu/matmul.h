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
  /// Each element counts as the nearest bfloat16, which elements of bf16 arrays are: one part where parts are
  /// multiplied. Kernels without parts take it as it is.
  bool is_bf16 = false;
  /// Where the elements lie, if they lie in memory as bfloat16s; no `data` then. For matmul, which widens them for
  /// kernels that read fp32.
  const std::uint16_t* halves = nullptr;

  /// The part that begins at element (i, j).
  MatrixRef from(std::int64_t i, std::int64_t j) const {
    MatrixRef part = *this;
    const std::int64_t at = transposed ? j * stride + i : i * stride + j;
    if (halves != nullptr)
      part.halves += at;
    else
      part.data += at;
    return part;
  }
};

/// A matrix of bfloat16s in memory.
inline MatrixRef matrix_of_halves(const void* data, std::int64_t stride, bool transposed = false) {
  return {nullptr, stride, transposed, true, static_cast<const std::uint16_t*>(data)};
}

/// How a product comes into c: added to beta · c, or in its place. Past the caches, where a kernel can, what is read only
/// once they hold other things: writing then fetches nothing. Bits are the same.
struct Store {
  float beta = 0;
  bool past_caches = false;
};

/// c [m, n] = a [m, k] · b [k, n] + beta · c, fp32. The only matrix product of Bora on CPUs; the kernel
/// behind it is chosen once at start-up. Bits do not depend on the number of threads, with any kernel.
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
            std::int64_t c_stride, Store store = {});

/// Whether matmul() reads b's bfloat16s as they lie beside an a of fp32, which may count as bfloat16s too; else it makes
/// fp32 of all of them first.
bool reads_halves(std::int64_t m, std::int64_t n, std::int64_t k, bool a_is_bf16 = false);

/// `batch` products of one shape; matrices lie `*_batch` elements apart.
void batched_matmul(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a,
                    std::int64_t a_batch, MatrixRef b, std::int64_t b_batch, float* c, std::int64_t c_stride,
                    std::int64_t c_batch);

/// Which implementation large products use: "amx", "bora", "bora+bf16" where two bf16 sides have one of their own
/// (bf16_matmul.h), or "mkl".
const char* matmul_path();

/// Overrides the choice made from the CPU (matrix units where it has them, else Bora's own vectors with
/// AVX-512 or AVX2, else MKL): for benchmarks, and for machines where that guesses wrong. Bits differ
/// between them. `amx` only where amx_matmul_works(). With `automatic` alone, products of two bf16 sides are made of
/// bf16_matmul where it works and there are no matrix units. Call before compute.
enum class MatmulKernel { automatic, mkl, bora, amx };
void set_matmul_kernel(MatmulKernel kernel);
/// What large products use: never `automatic`.
MatmulKernel matmul_kernel();

/// For benchmarks: while set, every product is reported with its shape, its sides and its seconds.
using MatmulObserver = void (*)(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                                const MatrixRef& a, const MatrixRef& b, double seconds);
void set_matmul_observer(MatmulObserver observer);

}  // namespace bora::kernels
