// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/bora_matmul.h"

#include <algorithm>

#include "bora/core/kernels/cpu/panels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/bora_matmul.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/tile-inl.h"

#ifndef BORA_CORE_KERNELS_OWN_MATMUL_CPP_ONCE
#define BORA_CORE_KERNELS_OWN_MATMUL_CPP_ONCE
namespace bora::kernels {

// k of one chain of sums: a left panel of that length stays in the first cache.
constexpr std::int64_t kInner = 384;
// Rows of a strided side that are fetched ahead: the processor does not foresee strides beyond a page.
constexpr std::int64_t kAhead = 8;
// Rows of the right panels that are fetched ahead when a task sees them first, in the third cache or beyond.
constexpr std::int64_t kAheadAtFirst = 32;

}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

bool beats_mkl() { return HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2; }

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

HWY_EXPORT(beats_mkl);
HWY_EXPORT(pack_left);
HWY_EXPORT(pack_right);
HWY_EXPORT(multiply_part);

bool bora_matmul_is_fast() { return HWY_DYNAMIC_DISPATCH(beats_mkl)(); }

void bora_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                 std::int64_t c_stride, Store store) {
  const PanelKernel kernel{.group = 1,
                           .two_take = 2,
                           .task_rows = 96,
                           .narrow_rows = 48,
                           .narrow_few_rows = 24,
                           .rows_as_they_are = 512,  // they share the first cache
                           .pack_left = HWY_DYNAMIC_DISPATCH(pack_left),
                           .pack_right = HWY_DYNAMIC_DISPATCH(pack_right),
                           .multiply_part = HWY_DYNAMIC_DISPATCH(multiply_part)};
  multiply_in_panels(kernel, m, n, k, a, b, c, c_stride, store);
}

}  // namespace bora::kernels
#endif
