// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/few_rows.h"

#include <algorithm>

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

/// a [m, k] with rows `a_stride` apart.
struct FewRows {
  std::int64_t m, k;
  const float* a;
  std::int64_t a_stride;
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
// The same for more rows and fewer columns: what a product with many rows waits for is its own arithmetic.
constexpr i64 kManyDots = HWY_TARGET <= HWY_AVX3 ? 3 : 1;
constexpr int kManyTogether = 8;

template <class W>
HWY_INLINE hn::Vec<Wide> load_whole(Wide d, const W* w) {
  return widened(d, w);
}
HWY_INLINE hn::Vec<Wide> load_whole(Wide d, const float* w) { return hn::LoadU(d, w); }

/// One vector of k, all of it there or the last `left` of it.
template <int kRows, int kColumns, bool kWhole, class W>
HWY_INLINE void add_products(const float* a, i64 a_stride, const W* b, i64 b_stride, i64 left,
                             hn::Vec<Wide> (&sums)[kRows * kColumns]) {
  const Wide d;
  hn::Vec<Wide> w[kColumns];
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
    __builtin_prefetch(b + (j + kColumns) * b_stride);
    w[j] = kWhole ? load_whole(d, b + j * b_stride) : load_weights(d, b + j * b_stride, left);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const auto x = kWhole ? hn::LoadU(d, a + r * a_stride) : load_weights(d, a + r * a_stride, left);
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) sums[r * kColumns + j] = hn::MulAdd(x, w[j], sums[r * kColumns + j]);
  }
}

/// c[0..kRows, 0..kColumns): dot products over k, each in vectors of its own.
template <int kRows, int kColumns, class W>
HWY_INLINE void dots(const FewRows& p, const Columns<W>& from, i64 row, i64 column) {
  const Wide d;
  const float* const a = p.a + row * p.a_stride;
  const W* const b = from.data + column * from.stride;
  hn::Vec<Wide> sums[kRows * kColumns];
#pragma GCC unroll 32
  for (int s = 0; s < kRows * kColumns; ++s) sums[s] = hn::Zero(d);
  i64 i = 0;
  for (; i + lanes(d) <= p.k; i += lanes(d))
    add_products<kRows, kColumns, true>(a + i, p.a_stride, b + i, from.stride, 0, sums);
  if (i < p.k) add_products<kRows, kColumns, false>(a + i, p.a_stride, b + i, from.stride, p.k - i, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kColumns; ++j) {
      const float sum = hn::GetLane(hn::SumOfLanes(d, sums[r * kColumns + j]));
      p.c[(row + r) * p.c_stride + column + j] = from.scales == nullptr ? sum : sum * from.scales[column + j];
    }
  }
}

template <int kColumns, class W>
HWY_INLINE void dots_of_all_rows(const FewRows& p, const Columns<W>& from, i64 column) {
  i64 r = 0;
  if constexpr (kColumns <= kManyDots)
    for (; r + kManyTogether <= p.m; r += kManyTogether) dots<kManyTogether, kColumns>(p, from, r, column);
  for (; r + kTogether <= p.m; r += kTogether) dots<kTogether, kColumns>(p, from, r, column);
  for (; r + 2 <= p.m; r += 2) dots<2, kColumns>(p, from, r, column);
  if (r < p.m) dots<1, kColumns>(p, from, r, column);
}

template <class W>
HWY_INLINE void all_dots(const FewRows& p, const Columns<W>& from, i64 begin, i64 end) {
  i64 j = begin;
  if (p.m >= kManyTogether)
    for (; j + kManyDots <= end; j += kManyDots) dots_of_all_rows<kManyDots>(p, from, j);
  else
    for (; j + kDots <= end; j += kDots) dots_of_all_rows<kDots>(p, from, j);
  for (; j < end; ++j) dots_of_all_rows<1>(p, from, j);
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

}  // namespace

void few_rows_matmul(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef a, MatrixRef b, float* c,
                     std::int64_t c_stride) {
  FewRows p{m, k, nullptr, 0, b, c, c_stride};
  p.a = as_rows(m, k, a, p.a_stride);
  for_chunks(n, kColumns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(few_rows_part)(p, begin, end);
  });
}

void few_rows_matmul(std::int64_t m, MatrixRef a, const StoredMatrix& b, float* c, std::int64_t c_stride) {
  FewRows p{m, b.inputs, nullptr, 0, {}, c, c_stride};
  p.a = as_rows(m, b.inputs, a, p.a_stride);
  for_chunks(b.outputs, kColumns, [&](std::int64_t begin, std::int64_t end) {
    if (b.int8 != nullptr)
      HWY_DYNAMIC_DISPATCH(int8_part)(p, {b.int8, b.inputs, b.scales}, begin, end);
    else
      HWY_DYNAMIC_DISPATCH(bf16_part)(p, {b.bf16, b.inputs, nullptr}, begin, end);
  });
}

}  // namespace bora::kernels
#endif
