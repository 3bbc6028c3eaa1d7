// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/own_matmul.h"

#include <algorithm>

#include "bora/core/kernels/scratch.h"
#include "bora/core/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/own_matmul.cpp"
#include "bora/core/kernels/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/tile-inl.h"

#ifndef BORA_CORE_KERNELS_OWN_MATMUL_CPP_ONCE
#define BORA_CORE_KERNELS_OWN_MATMUL_CPP_ONCE
namespace bora::kernels {

// k of one chain of sums: a left panel of that length stays in the first cache.
constexpr std::int64_t kInner = 384;
// One task's part of c: its right panels, kInner long, stay in the second cache.
constexpr std::int64_t kTaskRows = 96, kTaskColumns = 256;
// Products with at most kNarrow columns: each task packs its own rows, few enough that all threads get a
// share.
constexpr std::int64_t kNarrow = 256, kNarrowRows = 48, kNarrowFewRows = 24;
// Rows of the left side no further apart than this share the first cache: narrow products do not pack them.
constexpr std::int64_t kRowsAsTheyAre = 512;
// What is packed at once, in floats.
constexpr std::int64_t kPackedLeft = 1 << 20, kPackedRight = 1 << 21, kPackedInner = 4 * kInner;

// One packing task: so much of k, or so many rows or columns (a multiple of both sides of a tile).
constexpr std::int64_t kPackedAtOnce = 128, kPackedPanels = 96;
// Rows of a strided side that are fetched ahead: the processor does not foresee strides beyond a page.
constexpr std::int64_t kAhead = 8;
// Rows of the right panels that are fetched ahead when a task sees them first, in the third cache or beyond.
constexpr std::int64_t kAheadAtFirst = 32;

/// A block of the product with its packed sides; `add` to what c holds.
struct ProductBlock {
  MatrixRef a, b;
  float* c;
  std::int64_t c_stride;
  std::int64_t m, n, k;
  float *left, *right;  // panels of rows of a, of columns of b, each [k, tile side]; no left: a as it is
  bool add;
};

}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

bool beats_mkl() {
#if HWY_TARGET == HWY_AVX3
  return true;
#elif HWY_TARGET == HWY_AVX2
  __builtin_cpu_init();
  return !__builtin_cpu_is("intel");
#else
  return false;
#endif
}

/// `count` rows of x (columns, if `along`) as panels [k, side] one after the other, the last one zero-padded.
/// Along columns all panels at once: a row of x is read in one go, not once per panel.
/// A panel holds `whole_k` of which k are written here.
template <i64 kSide>
void pack_panels(const float* x, i64 stride, bool along, i64 count, i64 k, i64 whole_k, float* out) {
  if (!along) {
    for (i64 i = 0; i < count; i += kSide, out += kSide * whole_k) {
      pack_transposed(std::min(kSide, count - i), k, x + i * stride, stride, 1.0F, out, kSide);
    }
    return;
  }
  const i64 whole = count / kSide * kSide, rest = count - whole;
  for (i64 p = 0; p < k; ++p, x += stride, out += kSide) {
    float* to = out;
    for (i64 i = 0; i < count; i += 16) __builtin_prefetch(x + kAhead * stride + i);
    for (i64 i = 0; i < whole; i += kSide, to += kSide * whole_k)
      std::memcpy(to, x + i, kSide * sizeof(float));
    if (rest > 0) {
      std::copy(x + whole, x + count, to);
      std::fill(to + rest, to + kSide, 0.0F);
    }
  }
}

/// Rows [row, row + rows) of the left side, over k in [first, last).
void pack_left(const ProductBlock& p, i64 row, i64 rows, i64 first, i64 last) {
  const bool along = p.a.transposed;
  const float* x = p.a.data + (along ? first * p.a.stride + row : row * p.a.stride + first);
  pack_panels<kTileRows>(x, p.a.stride, along, rows, last - first, p.k,
                         p.left + row * p.k + first * kTileRows);
}

void pack_right(const ProductBlock& p, i64 column, i64 columns, i64 first, i64 last) {
  const bool along = !p.b.transposed;
  const float* x = p.b.data + (along ? first * p.b.stride + column : column * p.b.stride + first);
  pack_panels<kTileColumns>(x, p.b.stride, along, columns, last - first, p.k,
                            p.right + column * p.k + first * kTileColumns);
}

/// The last columns of c, fewer than a tile has, by way of a whole tile.
template <bool kPacked, bool kAdd>
void edge_tile(const ProductBlock& p, i64 rows, i64 columns, i64 inner, const float* left, i64 left_stride,
               const float* right, float* c) {
  HWY_ALIGN float whole[kTileRows * kTileColumns] = {};
  if constexpr (kAdd) {
    for (i64 i = 0; i < rows; ++i) std::copy_n(c + i * p.c_stride, columns, whole + i * kTileColumns);
  }
  tile_row<kPacked, kAdd>(rows, kTileColumns, inner, left, left_stride, right, kTileColumns, 0, whole,
                          kTileColumns);
  for (i64 i = 0; i < rows; ++i) std::copy_n(whole + i * kTileColumns, columns, c + i * p.c_stride);
}

template <bool kPacked, bool kAdd>
void slice(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column_begin, i64 column_end, i64 first,
           i64 inner) {
  const i64 whole = (column_end - column_begin) / kTileColumns * kTileColumns;
  const float* right = p.right + column_begin * p.k + first * kTileColumns;
  const i64 left_stride = kPacked ? kTileRows : p.a.stride;
  for (i64 i = row_begin; i < row_end; i += kTileRows) {
    const i64 rows = std::min<i64>(kTileRows, row_end - i);
    const float* left = kPacked ? p.left + i * p.k + first * kTileRows : p.a.data + i * p.a.stride + first;
    float* c = p.c + i * p.c_stride + column_begin;
    Ahead ahead{.left = kTileRows * p.k};
    if (i == row_begin) ahead.rows = kAheadAtFirst;
    if (i + kTileRows >= row_end && first + inner < p.k) {  // then the first rows over the next part of k
      ahead.left = (row_begin - i) * p.k + inner * kTileRows;
    }
    tile_row<kPacked, kAdd>(rows, whole, inner, left, left_stride, right, kTileColumns, kTileColumns * p.k, c,
                            p.c_stride, ahead);
    if (const i64 rest = column_end - column_begin - whole; rest > 0) {
      edge_tile<kPacked, kAdd>(p, rows, rest, inner, left, left_stride, right + whole * p.k, c + whole);
    }
  }
}

/// One task: a part of c over all of the block's k.
void multiply_part(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column_begin, i64 column_end) {
  for (i64 first = 0; first < p.k; first += kInner) {
    const i64 inner = std::min(kInner, p.k - first);
    const bool add = p.add || first > 0;
    const auto& part = p.left ? (add ? slice<true, true> : slice<true, false>)
                              : (add ? slice<false, true> : slice<false, false>);
    part(p, row_begin, row_end, column_begin, column_end, first, inner);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(beats_mkl);
HWY_EXPORT(pack_left);
HWY_EXPORT(pack_right);
HWY_EXPORT(multiply_part);

using i64 = std::int64_t;

constexpr i64 up(i64 n, i64 to) { return (n + to - 1) / to * to; }

/// Largest multiple of `task` whose packed side, `k` long, holds `budget` floats, but no more than n needs.
i64 block_side(i64 n, i64 k, i64 budget, i64 task) {
  return std::min(up(n, task), std::max(task, budget / k / task * task));
}

MatrixRef offset(MatrixRef x, i64 row, i64 column) {
  x.data += x.transposed ? column * x.stride + row : row * x.stride + column;
  return x;
}

/// Parts of one side to pack: [step of rows or columns] x [step of k].
struct PackTasks {
  i64 side, k, side_step, k_step;
  i64 across() const { return (side + side_step - 1) / side_step; }
  i64 count() const { return across() * ((k + k_step - 1) / k_step); }
};

// Many parts, so that no thread waits: along columns cut in k, else in panels.
PackTasks pack_tasks(i64 side, i64 k, bool along, i64 wide_step) {
  return along ? PackTasks{side, k, wide_step, kPackedAtOnce} : PackTasks{side, k, kPackedPanels, k};
}

void pack(const ProductBlock& p, bool left_too, bool right_too) {
  const PackTasks left = pack_tasks(left_too ? p.m : 0, p.k, p.a.transposed, kTaskRows);
  const PackTasks right = pack_tasks(right_too ? p.n : 0, p.k, !p.b.transposed, kTaskColumns);
  for_chunks(left.count() + right.count(), 1, [&](i64 task, i64) {
    const bool is_right = task < right.count();
    const PackTasks& t = is_right ? right : left;
    if (!is_right) task -= right.count();
    const i64 at = task % t.across() * t.side_step, first = task / t.across() * t.k_step;
    const i64 count = std::min(t.side_step, t.side - at), last = std::min(first + t.k_step, t.k);
    if (is_right) {
      HWY_DYNAMIC_DISPATCH(pack_right)(p, at, count, first, last);
    } else {
      HWY_DYNAMIC_DISPATCH(pack_left)(p, at, count, first, last);
    }
  });
}

void multiply(const ProductBlock& p) {
  const i64 rows = (p.m + kTaskRows - 1) / kTaskRows, columns = (p.n + kTaskColumns - 1) / kTaskColumns;
  for_chunks(rows * columns, 1, [&](i64 task, i64) {
    const i64 i = task % rows * kTaskRows,
              j = task / rows * kTaskColumns;  // neighbours share their right side
    HWY_DYNAMIC_DISPATCH(multiply_part)
    (p, i, std::min(i + kTaskRows, p.m), j, std::min(j + kTaskColumns, p.n));
  });
}

/// The same for a narrow c: no part of the left side serves two tasks, so it is packed where it is used.
void multiply_narrow(const ProductBlock& p) {
  const i64 task_rows = p.m <= 4 * kNarrowRows ? kNarrowFewRows : kNarrowRows;
  for_chunks(p.m, task_rows, [&](i64 begin, i64 end) {
    ProductBlock task = p;
    task.a = offset(p.a, begin, 0);
    task.c += begin * p.c_stride;
    task.m = end - begin;
    if (p.a.transposed || p.a.stride > kRowsAsTheyAre) {
      task.left = scratch(Scratch::partial, task_rows * p.k);
      HWY_DYNAMIC_DISPATCH(pack_left)(task, 0, task.m, 0, task.k);
    }
    for (i64 j = 0; j < p.n; j += kTaskColumns) {
      HWY_DYNAMIC_DISPATCH(multiply_part)(task, 0, task.m, j, std::min(j + kTaskColumns, p.n));
    }
  });
}

void scale_output(i64 m, i64 n, float* c, i64 c_stride, float beta) {
  for_chunks(m, 16, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      for (i64 j = 0; j < n; ++j) c[i * c_stride + j] = beta == 0 ? 0.0F : c[i * c_stride + j] * beta;
    }
  });
}

}  // namespace

bool own_matmul_is_fast() { return HWY_DYNAMIC_DISPATCH(beats_mkl)(); }

void own_matmul(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, float beta) {
  if (m <= 0 || n <= 0) return;
  if (k == 0 || (beta != 0 && beta != 1)) scale_output(m, n, c, c_stride, beta);
  const i64 inner = std::min(k, kPackedInner);
  if (inner == 0) return;
  const bool narrow = n <= kNarrow;
  const i64 rows = narrow ? m : block_side(m, inner, kPackedLeft, kTaskRows),
            columns = block_side(n, inner, kPackedRight, kTaskColumns);
  float *left = narrow ? nullptr : scratch(Scratch::partial, rows * inner),
        *right = scratch(Scratch::packed, columns * inner);
  for (i64 j = 0; j < n; j += columns) {
    for (i64 first = 0; first < k; first += inner) {
      for (i64 i = 0; i < m; i += rows) {
        const ProductBlock block{.a = offset(a, i, first),
                                 .b = offset(b, first, j),
                                 .c = c + i * c_stride + j,
                                 .c_stride = c_stride,
                                 .m = std::min(rows, m - i),
                                 .n = std::min(columns, n - j),
                                 .k = std::min(inner, k - first),
                                 .left = left,
                                 .right = right,
                                 .add = beta != 0 || first > 0};
        pack(block, !narrow, i == 0);
        (narrow ? multiply_narrow : multiply)(block);
      }
    }
  }
}

}  // namespace bora::kernels
#endif
