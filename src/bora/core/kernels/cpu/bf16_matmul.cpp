// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/bf16_matmul.h"

#include "bora/base/error.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>

#include <algorithm>

#include "bora/core/kernels/cpu/panels.h"
#include "bora/core/kernels/cpu/simd_target.h"

#include "hwy/base.h"

// A panel is 16 rows of a or 16 columns of b, and a group 32 of its k: 16 lines of 16 pairs of neighbours in k. In
// panels of a a line is a row; in those of b line j holds pair j of 16 columns. k is cut in stretches of kInner,
// within a stretch follow the panels, within a panel the groups.

#ifndef __clang__  // GCC 12 warns of its own header, where vectors are undefined on purpose
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#include "bora/core/kernels/cpu/pairs16-inl.h"

namespace bora::kernels {
namespace {

using i64 = std::int64_t;

constexpr i64 kSide = kLines;       // rows or columns of a panel
constexpr i64 kGroup = 2 * kPairs;  // k of a group
constexpr i64 kGroupFloats = kLines * kPairs;
constexpr i64 kRows = 8;     // of a tile: half a panel
constexpr int kMost = 3;     // panels of b beside each other in a tile
constexpr i64 kInner = 256;  // k of one chain of sums: kMost panels of b, so long, stay in the first cache

/// Where the group at (`at`, k) of a side begins; `at` is a row of a side with `count` rows, or a column.
i64 group_begins(const ProductBlock& p, i64 count, i64 at, i64 k) {
  const i64 panels = (count + kSide - 1) / kSide, stretch = k / kInner * kInner;
  const i64 groups = std::min(kInner, p.panel_k - stretch) / kGroup;  // of this stretch
  return (stretch / kGroup * panels + at / kSide * groups + (k - stretch) / kGroup) * kGroupFloats;
}

// ---- packing

void pack_left(const ProductBlock& p, i64 row, i64 rows, i64 first, i64 last) {
  const auto& group = p.a.transposed ? pack_pairs<true, false> : pack_pairs<true, true>;
  for (i64 i = row; i < row + rows; i += kSide) {
    for (i64 k = first; k < last; k += kGroup)
      group(p.a, i, k, row + rows - i, p.k - k, p.left + group_begins(p, p.m, i, k));
  }
}

void pack_right(const ProductBlock& p, i64 column, i64 columns, i64 first, i64 last) {
  const auto& group = p.b.transposed ? pack_pairs<false, true> : pack_pairs<false, false>;
  for (i64 k = first; k < last; k += kGroup) {
    for (i64 j = column; j < column + columns; j += kSide)
      group(p.b, j, k, column + columns - j, p.k - k, p.right + group_begins(p, p.n, j, k));
  }
}

// ---- multiplying

/// c [rows, columns] = or, if `add`, += half a panel of a times kPanels panels of b, `apart` floats from one to the
/// next, over `groups`. `columns` end in the last panel.
template <int kPanels>
void tile(i64 rows, i64 columns, i64 groups, const float* left, const float* right, i64 apart, float* c,
          i64 c_stride, bool add) {
  __m512 sums[kRows][kPanels];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPanels; ++j) sums[i][j] = _mm512_setzero_ps();
  }
  for (; groups > 0; --groups, left += kGroupFloats, right += kGroupFloats) {
    for (i64 pair = 0; pair < kPairs; ++pair) {
      __m512bh line[kPanels];
#pragma GCC unroll 3
      for (int j = 0; j < kPanels; ++j) line[j] = (__m512bh)_mm512_load_ps(right + j * apart + pair * kLines);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const auto both = (__m512bh)_mm512_set1_ps(left[i * kPairs + pair]);
#pragma GCC unroll 3
        for (int j = 0; j < kPanels; ++j) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], both, line[j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    if (i >= rows) break;
#pragma GCC unroll 3
    for (int j = 0; j < kPanels; ++j) {
      const __mmask16 exist = first_lanes(columns - j * kLines);
      float* to = c + i * c_stride + j * kLines;
      __m512 sum = sums[i][j];
      if (add) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(exist, to), sum);
      _mm512_mask_storeu_ps(to, exist, sum);
    }
  }
}

/// kPanels panels of b, which stay in the first cache, times all rows.
template <int kPanels>
void tiles(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column, i64 columns, i64 first, bool add) {
  const i64 inner = std::min(kInner, p.panel_k - first), groups = inner / kGroup;
  const float* right = p.right + group_begins(p, p.n, column, first);
  for (i64 i = row_begin; i < row_end; i += kRows) {
    const float* left = p.left + group_begins(p, p.m, i, first) + i % kSide * kPairs;
    tile<kPanels>(std::min(kRows, row_end - i), columns, groups, left, right, groups * kGroupFloats,
                  p.c + i * p.c_stride + column, p.c_stride, add);
  }
}

void multiply_part(const ProductBlock& p, i64 row_begin, i64 row_end, i64 column_begin, i64 column_end) {
  for (i64 first = 0; first < p.panel_k; first += kInner) {
    const bool add = p.add || first > 0;
    for (i64 j = column_begin; j < column_end;) {
      const i64 rest = column_end - j;
      // four panels as two and two: one alone would be bound by loads
      const i64 panels =
          rest > 4 * kSide || rest <= kMost * kSide ? std::min<i64>(kMost, (rest + kSide - 1) / kSide) : 2;
      const auto& part = panels == 3 ? tiles<3> : panels == 2 ? tiles<2> : tiles<1>;
      part(p, row_begin, row_end, j, std::min(rest, panels * kSide), first, add);
      j += panels * kSide;
    }
  }
}

constexpr PanelKernel kKernel{.group = kGroup,
                              .two_take = 1,
                              .task_rows = 128,
                              .narrow_rows = 64,
                              .narrow_few_rows = 32,
                              .rows_as_they_are = 0,
                              .pack_left = pack_left,
                              .pack_right = pack_right,
                              .multiply_part = multiply_part};

}  // namespace
}  // namespace bora::kernels
HWY_POP_ATTRIBUTES
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

namespace bora::kernels {

bool bf16_matmul_works() {
  __builtin_cpu_init();
  static const bool has = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
  return has && !simd_target_is_capped();
}

void bf16_matmul(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, Store store) {
  multiply_in_panels(kKernel, m, n, k, a, b, c, c_stride, store);
}

}  // namespace bora::kernels

#else

namespace bora::kernels {

bool bf16_matmul_works() { return false; }

void bf16_matmul(std::int64_t, std::int64_t, std::int64_t, MatrixRef, MatrixRef, float*, std::int64_t,
                 float) {
  fail(ErrorKind::Unsupported, "AVX512-BF16: this program was built for a CPU without it");
}

}  // namespace bora::kernels

#endif
