// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/matmul.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "bora/core/kernels/cpu/amx_matmul.h"
#include "bora/core/kernels/cpu/bf16_matmul.h"
#include "bora/core/kernels/cpu/bora_matmul.h"
#include "bora/core/kernels/cpu/few_rows.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/rows_apart.h"
#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

// Intel MKL inside libtorch_cpu, 32-bit integers: Fortran's interface, column-major; and the calling thread's
// own number of threads, 0 for the general one.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);
extern "C" int MKL_Set_Num_Threads_Local(int n);

namespace bora::kernels {
namespace {

using i64 = std::int64_t;

MatmulObserver observer = nullptr;
MatmulKernel choice = MatmulKernel::automatic;
// With so many rows a product takes as long as reading b does.
constexpr i64 kFewRows = 16;
thread_local i64 groups_apart = 0;

/// Row-major c = a·b is column-major cᵀ = bᵀ·aᵀ: the operands change places.
void mkl_tile(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, float beta) {
  const int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
  // A stride that is never used (one row, or none) may be smaller than MKL demands.
  const auto leading = [](const MatrixRef& x, i64 width) {
    return static_cast<int>(std::max({x.stride, width, i64{1}}));
  };
  const int lda = leading(b, b.transposed ? k : n), ldb = leading(a, a.transposed ? m : k);
  const int ldc = static_cast<int>(std::max(c_stride, n));
  const float one = 1.0F;
  sgemm_(b.transposed ? "T" : "N", a.transposed ? "T" : "N", &rows, &columns, &inner, &one, b.data, &lda,
         a.data, &ldb, &beta, c, &ldc);
}

/// Elements from the first to the last of a matrix with so many rows in memory.
i64 extent(i64 rows, i64 width, i64 stride) { return (rows - 1) * stride + width; }

constexpr i64 kLine = 16;  // floats of a cache line
i64 lines(i64 size) { return (size + kLine - 1) / kLine * kLine; }

/// Matrices as they would be in memory of their own: MKL's last bits may follow where in a cache line an operand
/// begins, on processors without AVX-512 above all.
class OnLines {
 public:
  OnLines(i64 m, i64 n, i64 k, MatrixRef& a, MatrixRef& b, float*& c, i64 c_stride, bool adds)
      : a_size_(a.transposed ? extent(k, m, a.stride) : extent(m, k, a.stride)),
        b_size_(b.transposed ? extent(n, k, b.stride) : extent(k, n, b.stride)),
        rows_(m),
        width_(n),
        stride_(c_stride) {
    const bool left = !begins_on_a_line(a.data), right = !begins_on_a_line(b.data),
               out = !begins_on_a_line(c);
    if (!left && !right && !out) return;
    float* at = scratch(Scratch::aligned, (left ? lines(a_size_) : 0) + (right ? lines(b_size_) : 0) +
                                              (out ? extent(m, n, c_stride) : 0));
    if (left) a.data = copied(a.data, a_size_, at);
    if (right) b.data = copied(b.data, b_size_, at);
    if (!out) return;
    place_ = c;
    result_ = c = at;
    if (adds) copy_rows(place_, result_);
  }
  void finish() const {
    if (result_ != nullptr) copy_rows(result_, place_);
  }

 private:
  static bool begins_on_a_line(const float* x) {
    return reinterpret_cast<std::uintptr_t>(x) % (kLine * sizeof(float)) == 0;
  }
  static const float* copied(const float* from, i64 size, float*& at) {
    const float* const to = std::copy_n(from, size, at) - size;
    at += lines(size);
    return to;
  }
  void copy_rows(const float* from, float* to) const {
    for (i64 i = 0; i < rows_; ++i) std::copy_n(from + i * stride_, width_, to + i * stride_);
  }

  i64 a_size_, b_size_, rows_, width_, stride_;
  float *place_ = nullptr, *result_ = nullptr;
};

/// c in tiles, each by one thread: MKL's own division of the work follows the number of threads, and so may
/// the order of its sums. These tiles follow from the shape. They cost nothing: packing 128 rows and 256
/// columns is little beside their product.
void mkl(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, Store store) {
  constexpr i64 kRows = 128, kColumns = 256;
  const OnLines on_lines(m, n, k, a, b, c, c_stride, store.beta != 0);
  const i64 across = (n + kColumns - 1) / kColumns, down = (m + kRows - 1) / kRows;
  for_chunks(across * down, 1, [&](i64 tile, i64) {
    const i64 i = tile / across * kRows, j = tile % across * kColumns;
    const int before = MKL_Set_Num_Threads_Local(1);
    mkl_tile(std::min(kRows, m - i), std::min(kColumns, n - j), k, a.from(i, 0), b.from(0, j),
             c + i * c_stride + j, c_stride, store.beta);
    MKL_Set_Num_Threads_Local(before);
  });
  on_lines.finish();
}

using Product = void (*)(i64, i64, i64, MatrixRef, MatrixRef, float*, i64, Store);

/// Whether two bf16 sides are multiplied as such on vectors.
bool multiplies_pairs() { return choice == MatmulKernel::automatic && bf16_matmul_works(); }

/// Packing pays only if each packed element of b is used often enough; tiles of AMX have 32 columns and 32 k.
Product product_for(i64 m, i64 n, i64 k, bool both_bf16) {
  if (k <= 0) return bora_matmul;
  const MatmulKernel kernel = matmul_kernel();
  if (m < 64 || n < 16) return mkl;
  if (kernel == MatmulKernel::amx && k >= 16) return amx_matmul;
  if (both_bf16 && k >= 16 && multiplies_pairs()) return bf16_matmul;
  return kernel == MatmulKernel::mkl ? mkl : bora_matmul;
}

/// Sides that lie in memory as bfloat16s, as fp32.
void widen(i64 m, i64 n, i64 k, MatrixRef& a, MatrixRef& b) {
  const i64 left = a.halves == nullptr ? 0
                   : a.transposed      ? extent(k, m, a.stride)
                                       : extent(m, k, a.stride),
            right = b.halves == nullptr ? 0
                    : b.transposed      ? extent(n, k, b.stride)
                                        : extent(k, n, b.stride);
  if (left + right == 0) return;
  float* to = scratch(Scratch::from_bf16, lines(left) + right);
  for (const auto& [side, size] : {std::pair(&a, left), std::pair(&b, right)}) {
    if (size == 0) continue;
    from_bf16(size, side->halves, to);
    side->data = to;
    side->halves = nullptr;
    to += lines(size);
  }
}

void copy_matrix(i64 rows, i64 columns, const MatrixRef& from, float* to) {
  for (i64 i = 0; i < rows; ++i) {
    for (i64 j = 0; j < columns; ++j)
      to[i * columns + j] = from.data[from.transposed ? j * from.stride + i : i * from.stride + j];
  }
}

/// Each group of rows begins on a cache line, as it does alone: MKL's bits may follow that.
void matmul_apart(i64 groups, i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride) {
  const i64 rows = m / groups, left = lines(rows * k), out = lines(rows * n);
  float* const x = scratch(Scratch::shared, groups * (left + out));
  float* const y = x + groups * left;
  MatrixRef from = a;
  for (i64 g = 0; g < groups; ++g, from.data += a.transposed ? rows : rows * a.stride)
    copy_matrix(rows, k, from, x + g * left);
  const auto group = [&](i64 g) { return MatrixRef{x + g * left, k, false, a.is_bf16}; };
  const Product product = product_for(rows, n, k, a.is_bf16 && b.is_bf16);
  for (i64 g = 0; g < groups; ++g) product(rows, n, k, group(g), b, y + g * out, n, {});
  for (i64 g = 0; g < groups; ++g) {
    for (i64 i = 0; i < rows; ++i) std::copy_n(y + g * out + i * n, n, c + (g * rows + i) * c_stride);
  }
}

/// Into how many groups of rows a product is cut whose bits are those of each group alone.
i64 groups_of(i64 m) { return groups_apart > 0 && m % groups_apart == 0 ? groups_apart : 1; }

/// Reports its own lifetime to the observer.
class Observed {
 public:
  Observed(i64 batch, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b)
      : shape_{batch, m, n, k}, a_(a), b_(b) {
    if (observer) start_ = std::chrono::steady_clock::now();
  }
  ~Observed() {
    if (!observer) return;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    observer(shape_[0], shape_[1], shape_[2], shape_[3], a_, b_, seconds.count());
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  i64 shape_[4];
  MatrixRef a_, b_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

MatmulKernel matmul_kernel() {
  if (choice != MatmulKernel::automatic) return choice;
  if (amx_matmul_works()) return MatmulKernel::amx;
  return bora_matmul_is_fast() ? MatmulKernel::bora : MatmulKernel::mkl;
}

void matmul(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, Store store) {
  if (m <= 0 || n <= 0) return;
  const Observed observed(1, m, n, k, a, b);
  const bool apart = groups_apart > 0 && m % groups_apart == 0 && store.beta == 0;
  const i64 groups = apart ? groups_apart : 1;
  const bool few = apart && are_few_rows(m), in_groups = groups > 1 && !few;
  const Product product = product_for(m / groups, n, k, a.is_bf16 && b.is_bf16);
  const bool as_they_lie = product == bf16_matmul || (product == amx_matmul && b.is_bf16);
  if (few || !as_they_lie || (in_groups && a.halves != nullptr)) widen(m, n, k, a, b);
  if (few)
    few_rows_matmul(m, n, k, a, b, c, c_stride);
  else if (in_groups)
    matmul_apart(groups, m, n, k, a, b, c, c_stride);
  else
    product(m, n, k, a, b, c, c_stride, store);
}

bool reads_halves(i64 m, i64 n, i64 k, bool a_is_bf16) {
  const Product product = product_for(m / groups_of(m), n, k, a_is_bf16);
  return product == amx_matmul || product == bf16_matmul;
}

i64 set_rows_apart(i64 groups) { return std::exchange(groups_apart, groups); }

bool are_few_rows(i64 m) { return m / groups_of(m) <= kFewRows; }

// Never MKL: small matrices, one thread each.
void batched_matmul(i64 batch, i64 m, i64 n, i64 k, MatrixRef a, i64 a_batch, MatrixRef b, i64 b_batch,
                    float* c, i64 c_stride, i64 c_batch) {
  const Observed observed(batch, m, n, k, a, b);
  Product product = product_for(m, n, k, a.is_bf16 && b.is_bf16);
  if (product == mkl) product = bora_matmul;
  for_chunks(batch, 1, [&](i64 i, i64) {
    MatrixRef ai = a, bi = b;
    ai.data += i * a_batch;
    bi.data += i * b_batch;
    product(m, n, k, ai, bi, c + i * c_batch, c_stride, {});
  });
}

const char* matmul_path() {
  switch (matmul_kernel()) {
    case MatmulKernel::amx:
      return "amx";
    case MatmulKernel::bora:
      return multiplies_pairs() ? "bora+bf16" : "bora";
    default:
      return "mkl";
  }
}

void set_matmul_kernel(MatmulKernel kernel) { choice = kernel; }

void set_matmul_observer(MatmulObserver o) { observer = o; }

}  // namespace bora::kernels
