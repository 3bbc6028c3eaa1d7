// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The inner loop of every product: a tile of sums stays in registers while k runs. An element is one chain of
// fused multiply-adds in order of k, whatever the tile's size: bits depend on neither the vector width nor
// the tiling.
#if defined(BORA_CORE_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BORA_CORE_KERNELS_TILE_INL_H_
#undef BORA_CORE_KERNELS_TILE_INL_H_
#else
#define BORA_CORE_KERNELS_TILE_INL_H_
#endif

#include <algorithm>

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

// Rows and vectors of a full tile: as many sums as registers hold, beside a row of b and one element of a.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 12, kTileVectors = 2;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6, kTileVectors = 2;
#else
constexpr int kTileRows = 6, kTileVectors = 16 / static_cast<int>(hn::MaxLanes(Wide()));
#endif
/// What a tile fetches before it is needed: its sums come faster than the second and third caches answer.
struct Ahead {
  std::int64_t rows = 8;  ///< of b; more where b was not used lately
  std::int64_t left = 0;  ///< elements from a packed panel of a to the one that is multiplied after it
};
/// Columns of a full tile.
constexpr std::int64_t kTileColumns = kTileVectors * static_cast<std::int64_t>(hn::MaxLanes(Wide()));

/// c [kRows, kVectors·lanes] = a·b, or += if `kAdd`. b [k, ...] is row-major. a(i, k) is a[i·a_stride + k],
/// or a[k·a_stride + i] if `kTransposed`.
template <int kRows, int kVectors, bool kTransposed, bool kAdd>
HWY_INLINE void tile(std::int64_t k, const float* HWY_RESTRICT a, std::int64_t a_stride,
                     const float* HWY_RESTRICT b, std::int64_t b_stride, float* HWY_RESTRICT c,
                     std::int64_t c_stride, Ahead ahead) {
  const Wide d;
  const std::int64_t width = lanes(d);
  hn::Vec<Wide> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  if constexpr (kAdd) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) __builtin_prefetch(c + i * c_stride + j * width);
    }
  }
  for (std::int64_t p = 0; p < k; ++p) {
    if constexpr (kTransposed) __builtin_prefetch(a + ahead.left);
    for (std::int64_t line = 0; line < kVectors * width; line += 16)
      __builtin_prefetch(b + ahead.rows * b_stride + line);
    hn::Vec<Wide> row[kVectors];
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) row[j] = hn::LoadU(d, b + j * width);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      // Strided rows in groups of four: three pointers and one stride address them all.
      const auto left = hn::Set(d, kTransposed ? a[i] : (a + i / 4 * 4 * a_stride)[i % 4 * a_stride]);
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(left, row[j], sums[i][j]);
    }
    b += b_stride;
    a += kTransposed ? a_stride : 1;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) {
      float* to = c + i * c_stride + j * width;
      hn::StoreU(kAdd ? hn::Add(hn::LoadU(d, to), sums[i][j]) : sums[i][j], d, to);
    }
  }
}

template <int kRows, bool kTransposed, bool kAdd>
HWY_NOINLINE void tile_columns(std::int64_t n, std::int64_t k, const float* a, std::int64_t a_stride,
                               const float* b, std::int64_t b_stride, std::int64_t b_panel, float* c,
                               std::int64_t c_stride, Ahead ahead) {
  std::int64_t j = 0;
  for (; j + kTileColumns <= n; j += kTileColumns, b += b_panel) {
    tile<kRows, kTileVectors, kTransposed, kAdd>(k, a, a_stride, b, b_stride, c + j, c_stride, ahead);
  }
  for (; j < n; j += lanes(Wide()), b += lanes(Wide())) {
    tile<kRows, 1, kTransposed, kAdd>(k, a, a_stride, b, b_stride, c + j, c_stride, ahead);
  }
}

/// c [rows, n] = or += a [rows, k] · b [k, n] for up to kTileRows rows; n is a multiple of the vector's
/// lanes. Columns of b come in panels of kTileColumns, `b_panel` elements apart (kTileColumns for a plain
/// matrix).
template <bool kTransposed, bool kAdd>
void tile_row(std::int64_t rows, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_stride,
              const float* b, std::int64_t b_stride, std::int64_t b_panel, float* c, std::int64_t c_stride,
              Ahead ahead = {}) {
  if (rows == kTileRows) {
    return tile_columns<kTileRows, kTransposed, kAdd>(n, k, a, a_stride, b, b_stride, b_panel, c, c_stride,
                                                      ahead);
  }
  for (std::int64_t i = 0; i < rows;) {
    const float* left = a + (kTransposed ? i : i * a_stride);
    float* to = c + i * c_stride;
    if (rows - i >= 6) {
      tile_columns<6, kTransposed, kAdd>(n, k, left, a_stride, b, b_stride, b_panel, to, c_stride, ahead);
      i += 6;
    } else if (rows - i >= 4) {
      tile_columns<4, kTransposed, kAdd>(n, k, left, a_stride, b, b_stride, b_panel, to, c_stride, ahead);
      i += 4;
    } else if (rows - i >= 2) {
      tile_columns<2, kTransposed, kAdd>(n, k, left, a_stride, b, b_stride, b_panel, to, c_stride, ahead);
      i += 2;
    } else {
      tile_columns<1, kTransposed, kAdd>(n, k, left, a_stride, b, b_stride, b_panel, to, c_stride, ahead);
      i += 1;
    }
  }
}

// ---- packing

/// out(j, i) = x(i, j)·by for a 4x4 block; strides in elements.
HWY_INLINE void transpose4(const float* x, std::int64_t x_stride, float by, float* out,
                           std::int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) out[j * out_stride + i] = x[i * x_stride + j] * by;
  }
#else
  const hn::CappedTag<float, 4> d;
  const auto factor = hn::Set(d, by);
  const auto a = hn::Mul(hn::LoadU(d, x), factor), b = hn::Mul(hn::LoadU(d, x + x_stride), factor);
  const auto c = hn::Mul(hn::LoadU(d, x + 2 * x_stride), factor),
             e = hn::Mul(hn::LoadU(d, x + 3 * x_stride), factor);
  const auto ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
  const auto be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, out);
  hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, out + out_stride);
  hn::StoreU(hn::InterleaveLower(d, ac_high, be_high), d, out + 2 * out_stride);
  hn::StoreU(hn::InterleaveUpper(d, ac_high, be_high), d, out + 3 * out_stride);
#endif
}

/// One panel: out [columns, width] = transpose of x [rows, columns] · by; rows up to width are zeros.
HWY_INLINE void pack_transposed(std::int64_t rows, std::int64_t columns, const float* x,
                                std::int64_t x_stride, float by, float* out, std::int64_t width) {
  const std::int64_t whole = rows / 4 * 4;
  for (std::int64_t first = 0; first < columns; first += 16) {  // a cache line of each row
    const std::int64_t last = std::min(first + 16, columns);
    for (std::int64_t i = 0; i < whole; i += 4) {
      std::int64_t j = first;
      for (; j + 4 <= last; j += 4)
        transpose4(x + i * x_stride + j, x_stride, by, out + j * width + i, width);
      for (; j < last; ++j) {
        for (std::int64_t u = i; u < i + 4; ++u) out[j * width + u] = x[u * x_stride + j] * by;
      }
    }
    for (std::int64_t i = whole; i < width; ++i) {
      for (std::int64_t j = first; j < last; ++j)
        out[j * width + i] = i < rows ? x[i * x_stride + j] * by : 0.0F;
    }
  }
}

/// One row of n elements times `by`, padded with zeros to `width`.
HWY_INLINE void pack_row(std::int64_t n, const float* x, float by, float* out, std::int64_t width) {
  const Lane8 d;
  const auto factor = hn::Set(d, by);
  std::int64_t j = 0;
  for (; j + lanes(d) <= n; j += lanes(d)) hn::StoreU(hn::Mul(hn::LoadU(d, x + j), factor), d, out + j);
  for (; j < n; ++j) out[j] = x[j] * by;
  std::fill(out + n, out + width, 0.0F);
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#endif
