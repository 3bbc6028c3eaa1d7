// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/few_rows.h"

#include <algorithm>

#include "bora/core/kernels/cpu/amx_few_rows.h"
#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/few_rows.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"
#include "bora/core/kernels/cpu/stored-inl.h"

#ifndef BORA_CORE_KERNELS_FEW_ROWS_CPP_ONCE
#define BORA_CORE_KERNELS_FEW_ROWS_CPP_ONCE
namespace bora::kernels {

/// a [m, k] with rows `a_stride` apart; `packed` are the same in groups of kTogether rows, or null: of each group 16 of
/// k after 16 of k, zeros behind the last, and of these row after row.
struct FewRows {
  std::int64_t m, k;
  const float* a;
  std::int64_t a_stride;
  const float* packed;
  MatrixRef b;
  float* c;
  std::int64_t c_stride;
};

/// Columns of b as rows of weights, `stride` apart.
template <class W>
struct Columns {
  const W* data;
  std::int64_t stride;
  const float* scales;  ///< of the sums, or null
};

}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

constexpr i64 kDots = 4;     // columns of b, stored as rows, that are read side by side
constexpr i64 kVectors = 4;  // of columns of b, stored as columns
constexpr int kTogether =
    HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // rows whose sums of kDots columns fit the registers

template <class W>
HWY_INLINE hn::Vec<Wide> load_whole(Wide d, const W* w) {
  return widened(d, w);
}
HWY_INLINE hn::Vec<Wide> load_whole(Wide d, const float* w) { return hn::LoadU(d, w); }

/// Where the rows of a stand: vectors of k `step` apart, rows `row` apart.
struct Left {
  const float* at;
  i64 step, row;
};

/// One vector of k, all of it there or the last `left` of it. kFetch columns of `next` are fetched meanwhile, into the
/// second cache.
template <int kRows, int kColumns, bool kWhole, int kFetch, class W>
HWY_INLINE void add_products(const float* a, i64 row, bool a_is_whole, const W* b, i64 b_stride, i64 left,
                             const W* next, hn::Vec<Wide> (&sums)[kRows * kColumns]) {
  const Wide d;
  hn::Vec<Wide> w[kColumns];
#pragma GCC unroll 16
  for (int j = 0; j < kFetch; ++j) __builtin_prefetch(next + j * b_stride, 0, 2);
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
    w[j] = kWhole ? load_whole(d, b + j * b_stride) : load_weights(d, b + j * b_stride, left);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const auto x = kWhole || a_is_whole ? hn::LoadU(d, a + r * row) : load_weights(d, a + r * row, left);
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) sums[r * kColumns + j] = hn::MulAdd(x, w[j], sums[r * kColumns + j]);
  }
}

/// c[0..kRows, 0..kColumns): dot products over k, each in vectors of its own. Of the next columns kFetch from `fetched` on
/// are fetched.
template <int kRows, int kColumns, int kFetch, class W>
HWY_INLINE void dots(const FewRows& p, Left a, bool a_is_whole, const Columns<W>& from, i64 row, i64 column,
                     i64 fetched = 0) {
  const Wide d;
  const W *const b = from.data + column * from.stride, *next = b + (kColumns + fetched) * from.stride;
  hn::Vec<Wide> sums[kRows * kColumns];
#pragma GCC unroll 32
  for (int s = 0; s < kRows * kColumns; ++s) sums[s] = hn::Zero(d);
  i64 i = 0;
  for (; i + lanes(d) <= p.k; i += lanes(d), a.at += a.step)
    add_products<kRows, kColumns, true, kFetch>(a.at, a.row, true, b + i, from.stride, 0, next + i, sums);
  if (i < p.k)
    add_products<kRows, kColumns, false, kFetch>(a.at, a.row, a_is_whole, b + i, from.stride, p.k - i,
                                                 next + i, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kColumns; ++j) {
      const float sum = hn::GetLane(hn::SumOfLanes(d, sums[r * kColumns + j]));
      p.c[(row + r) * p.c_stride + column + j] = from.scales == nullptr ? sum : sum * from.scales[column + j];
    }
  }
}

template <int kColumns, class W>
HWY_INLINE void dots_of_all_rows(const FewRows& p, const Columns<W>& from, i64 column) {
  const i64 width = lanes(Wide());
  const auto as_it_is = [&](i64 r) { return Left{p.a + r * p.a_stride, width, p.a_stride}; };
  i64 r = 0;
  if (p.packed != nullptr) {
    const i64 group = kTogether * ((p.k + width - 1) / width * width);
    const auto packed = [&](i64 at) {
      return Left{p.packed + at / kTogether * group, kTogether * width, width};
    };
    if (p.m < 2 * kTogether) {
      dots<kTogether, kColumns, kColumns>(p, packed(0), true, from, 0, column);
      r = kTogether;
    } else {  // memory works beside both groups
      constexpr int kHalf = (kColumns + 1) / 2;
      dots<kTogether, kColumns, kHalf>(p, packed(0), true, from, 0, column);
      dots<kTogether, kColumns, kColumns - kHalf>(p, packed(kTogether), true, from, kTogether, column, kHalf);
      r = 2 * kTogether;
    }
    for (; r + kTogether <= p.m; r += kTogether)
      dots<kTogether, kColumns, 0>(p, packed(r), true, from, r, column);
  }
  for (; r + kTogether <= p.m; r += kTogether)
    dots<kTogether, kColumns, kColumns>(p, as_it_is(r), false, from, r, column);
  for (; r + 2 <= p.m; r += 2) dots<2, kColumns, kColumns>(p, as_it_is(r), false, from, r, column);
  if (r < p.m) dots<1, kColumns, kColumns>(p, as_it_is(r), false, from, r, column);
}

template <class W>
HWY_INLINE void all_dots(const FewRows& p, const Columns<W>& from, i64 begin, i64 end) {
  i64 j = begin;
  for (; j + kDots <= end; j += kDots) dots_of_all_rows<kDots>(p, from, j);
  for (; j < end; ++j) dots_of_all_rows<1>(p, from, j);
}
/// Rows that lie far apart share few lines of the first cache: read again and again they stand one after the other.
void pack_rows(const FewRows& p, float* out) {
  const Wide d;
  for (i64 r = 0; r + kTogether <= p.m; r += kTogether) {
    for (i64 i = 0; i < p.k; i += lanes(d)) {
      for (i64 at = r; at < r + kTogether; ++at, out += lanes(d)) {
        const float* const x = p.a + at * p.a_stride + i;
        hn::StoreU(i + lanes(d) <= p.k ? hn::LoadU(d, x) : load_weights(d, x, p.k - i), d, out);
      }
    }
  }
}

void bf16_part(const FewRows& p, const Columns<std::uint16_t>& from, i64 begin, i64 end) {
  all_dots(p, from, begin, end);
}
void int8_part(const FewRows& p, const Columns<std::int8_t>& from, i64 begin, i64 end) {
  all_dots(p, from, begin, end);
}

/// c[0..kRows, 0..columns): sums over k of b's rows, at most kVectors wide.
template <int kRows>
HWY_INLINE void sums(const FewRows& p, const float* a, const float* b, i64 columns, float* c) {
  const Wide d;
  const i64 width = lanes(d);
  hn::Vec<Wide> acc[kRows * kVectors];
  for (auto& s : acc) s = hn::Zero(d);
  for (i64 i = 0; i < p.k; ++i, b += p.b.stride) {
    for (i64 v = 0; v < kVectors; ++v) {
      const i64 left = columns - v * width;
      const auto w = left > 0 ? load_weights(d, b + v * width, left) : hn::Zero(d);
      for (int r = 0; r < kRows; ++r)
        acc[r * kVectors + v] = hn::MulAdd(hn::Set(d, a[r * p.a_stride + i]), w, acc[r * kVectors + v]);
    }
  }
  HWY_ALIGN float out[hn::MaxLanes(Wide())];
  for (int r = 0; r < kRows; ++r) {
    for (i64 v = 0; v * width < columns; ++v) {
      hn::Store(acc[r * kVectors + v], d, out);
      std::copy_n(out, std::min(width, columns - v * width), c + r * p.c_stride + v * width);
    }
  }
}

void few_rows_part(const FewRows& p, i64 begin, i64 end) {
  if (p.b.transposed) return all_dots(p, Columns<float>{p.b.data, p.b.stride, nullptr}, begin, end);
  const i64 wide = kVectors * lanes(Wide());
  for (i64 j = begin; j < end; j += wide) {
    const i64 columns = std::min(wide, end - j);
    i64 r = 0;
    for (; r + 2 <= p.m; r += 2)
      sums<2>(p, p.a + r * p.a_stride, p.b.data + j, columns, p.c + r * p.c_stride + j);
    if (r < p.m) sums<1>(p, p.a + r * p.a_stride, p.b.data + j, columns, p.c + r * p.c_stride + j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(few_rows_part);
HWY_EXPORT(bf16_part);
HWY_EXPORT(int8_part);
HWY_EXPORT(pack_rows);

constexpr std::int64_t kColumns = 96;  // of one thread at a time

/// The rows of a one after the other, where they are not.
const float* as_rows(std::int64_t m, std::int64_t k, const MatrixRef& a, std::int64_t& stride) {
  stride = a.stride;
  if (!a.transposed) return a.data;
  float* const out = scratch(Scratch::shared, m * k);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p) out[i * k + p] = a.data[p * a.stride + i];
  stride = k;
  return out;
}

FewRows rows_of(std::int64_t m, std::int64_t k, const MatrixRef& a, MatrixRef b, float* c,
                std::int64_t c_stride) {
  constexpr std::int64_t kFewest = 4, kVector = 16;
  FewRows p{m, k, nullptr, 0, nullptr, b, c, c_stride};
  p.a = as_rows(m, k, a, p.a_stride);
  if (m < kFewest) return p;
  float* const out = scratch(Scratch::packed, m * ((k + kVector - 1) / kVector * kVector));
  HWY_DYNAMIC_DISPATCH(pack_rows)(p, out);
  p.packed = out;
  return p;
}

}  // namespace

void few_rows_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                     std::int64_t c_stride) {
  const FewRows p = rows_of(m, k, a, b, c, c_stride);
  for_chunks(n, kColumns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(few_rows_part)(p, begin, end);
  });
}

void few_rows_matmul(std::int64_t m, MatrixRef a, const StoredMatrix& b, float* c, std::int64_t c_stride) {
  if (b.bf16 != nullptr && matmul_kernel() == MatmulKernel::amx) {
    std::int64_t stride = 0;
    const float* const rows = as_rows(m, b.inputs, a, stride);
    return amx_few_rows_matmul(m, {rows, stride}, b, c, c_stride);
  }
  const FewRows p = rows_of(m, b.inputs, a, {}, c, c_stride);
  for_chunks(b.outputs, kColumns, [&](std::int64_t begin, std::int64_t end) {
    if (b.int8 != nullptr)
      HWY_DYNAMIC_DISPATCH(int8_part)(p, {b.int8, b.inputs, b.scales}, begin, end);
    else
      HWY_DYNAMIC_DISPATCH(bf16_part)(p, {b.bf16, b.inputs, nullptr}, begin, end);
  });
}

}  // namespace bora::kernels
#endif
