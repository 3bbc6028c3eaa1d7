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
// What is packed at once, in floats.
constexpr std::int64_t kPackedLeft = 1 << 20, kPackedRight = 1 << 21, kPackedInner = 4 * kInner;

/// A block of the product with its packed sides; `add` to what c holds.
struct ProductBlock {
  MatrixRef a, b;
  float* c;
  std::int64_t c_stride;
  std::int64_t m, n, k;
  float *left, *right;  // panels of rows of a, of columns of b, each [k, tile side]
  bool add;
};

}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

i64 tile_rows() { return kTileRows; }
i64 tile_columns_count() { return kTileColumns; }
bool has_wide_tiles() {
#if HWY_TARGET == HWY_AVX3
  return true;
#else
  return false;
#endif
}

/// `count` of x's rows (or columns, if `along`) as one panel [k, side], zero-padded.
template <i64 kSide>
void pack_panel(const float* x, i64 stride, bool along, i64 count, i64 k, float* out) {
  if (!along) return pack_transposed(count, k, x, stride, 1.0F, out, kSide);
  for (i64 p = 0; p < k; ++p, x += stride, out += kSide) {
    if (count == kSide) {
      std::memcpy(out, x, kSide * sizeof(float));
    } else {
      std::copy(x, x + count, out);
      std::fill(out + count, out + kSide, 0.0F);
    }
  }
}

void pack_left(const ProductBlock& p, i64 panel) {
  const i64 row = panel * kTileRows;
  const float* x = p.a.data + row * (p.a.transposed ? 1 : p.a.stride);
  pack_panel<kTileRows>(x, p.a.stride, p.a.transposed, std::min<i64>(kTileRows, p.m - row), p.k,
                        p.left + row * p.k);
}

void pack_right(const ProductBlock& p, i64 panel) {
  const i64 column = panel * kTileColumns;
  const float* x = p.b.data + column * (p.b.transposed ? p.b.stride : 1);
  pack_panel<kTileColumns>(x, p.b.stride, !p.b.transposed, std::min(kTileColumns, p.n - column), p.k,
                           p.right + column * p.k);
}

/// The last columns of c, fewer than a tile has, by way of a whole tile.
template <bool kAdd>
void edge_tile(const ProductBlock& p, i64 rows, i64 columns, i64 inner, const float* left, const float* right,
               float* c) {
  HWY_ALIGN float whole[kTileRows * kTileColumns] = {};
  if constexpr (kAdd) {
    for (i64 i = 0; i < rows; ++i) std::copy_n(c + i * p.c_stride, columns, whole + i * kTileColumns);
  }
  tile_row<true, kAdd>(rows, kTileColumns, inner, left, kTileRows, right, kTileColumns, 0, whole,
                       kTileColumns);
  for (i64 i = 0; i < rows; ++i) std::copy_n(whole + i * kTileColumns, columns, c + i * p.c_stride);
}

template <bool kAdd>
void slice(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column_begin, i64 column_end, i64 first,
           i64 inner) {
  const i64 whole = (column_end - column_begin) / kTileColumns * kTileColumns;
  const float* right = p.right + column_begin * p.k + first * kTileColumns;
  for (i64 i = row_begin; i < row_end; i += kTileRows) {
    const i64 rows = std::min<i64>(kTileRows, row_end - i);
    const float* left = p.left + i * p.k + first * kTileRows;
    float* c = p.c + i * p.c_stride + column_begin;
    tile_row<true, kAdd>(rows, whole, inner, left, kTileRows, right, kTileColumns, kTileColumns * p.k, c,
                         p.c_stride);
    if (const i64 rest = column_end - column_begin - whole; rest > 0) {
      edge_tile<kAdd>(p, rows, rest, inner, left, right + whole * p.k, c + whole);
    }
  }
}

/// One task: a part of c over all of the block's k.
void multiply_part(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column_begin, i64 column_end) {
  for (i64 first = 0; first < p.k; first += kInner) {
    const i64 inner = std::min(kInner, p.k - first);
    if (p.add || first > 0) {
      slice<true>(p, row_begin, row_end, column_begin, column_end, first, inner);
    } else {
      slice<false>(p, row_begin, row_end, column_begin, column_end, first, inner);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(tile_rows);
HWY_EXPORT(tile_columns_count);
HWY_EXPORT(has_wide_tiles);
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

void pack(const ProductBlock& p, bool right_too) {
  const i64 left = (p.m + HWY_DYNAMIC_DISPATCH(tile_rows)() - 1) / HWY_DYNAMIC_DISPATCH(tile_rows)();
  const i64 columns = HWY_DYNAMIC_DISPATCH(tile_columns_count)();
  const i64 right = right_too ? (p.n + columns - 1) / columns : 0;
  for_chunks(left + right, 1, [&](i64 i, i64) {
    if (i < right) {
      HWY_DYNAMIC_DISPATCH(pack_right)(p, i);
    } else {
      HWY_DYNAMIC_DISPATCH(pack_left)(p, i - right);
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

void scale_output(i64 m, i64 n, float* c, i64 c_stride, float beta) {
  for_chunks(m, 16, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      for (i64 j = 0; j < n; ++j) c[i * c_stride + j] = beta == 0 ? 0.0F : c[i * c_stride + j] * beta;
    }
  });
}

}  // namespace

bool own_matmul_is_fast() { return HWY_DYNAMIC_DISPATCH(has_wide_tiles)(); }

void own_matmul(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, float beta) {
  if (m <= 0 || n <= 0) return;
  if (k == 0 || (beta != 0 && beta != 1)) scale_output(m, n, c, c_stride, beta);
  const i64 inner = std::min(k, kPackedInner);
  if (inner == 0) return;
  const i64 rows = block_side(m, inner, kPackedLeft, kTaskRows),
            columns = block_side(n, inner, kPackedRight, kTaskColumns);
  float *left = scratch(Scratch::partial, rows * inner), *right = scratch(Scratch::packed, columns * inner);
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
        pack(block, i == 0);
        multiply(block);
      }
    }
  }
}

}  // namespace bora::kernels
#endif
