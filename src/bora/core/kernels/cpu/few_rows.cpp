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

}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

constexpr i64 kDots = 4;     // columns of b, stored as rows, that are read side by side
constexpr i64 kVectors = 4;  // of columns of b, stored as columns

template <class D>
HWY_INLINE hn::Vec<D> load_up_to(D d, const float* x, i64 left) {
  return left >= lanes(d) ? hn::LoadU(d, x) : load_part(d, x, left);
}

/// c[0..kRows, 0..kColumns): dot products over k, each in vectors of its own.
template <int kRows, int kColumns>
HWY_INLINE void dots(const FewRows& p, const float* a, const float* b, float* c) {
  const Wide d;
  hn::Vec<Wide> sums[kRows * kColumns];
  for (auto& s : sums) s = hn::Zero(d);
  for (i64 i = 0; i < p.k; i += lanes(d)) {
    hn::Vec<Wide> x[kRows];
    for (int r = 0; r < kRows; ++r) x[r] = load_up_to(d, a + r * p.a_stride + i, p.k - i);
    for (int j = 0; j < kColumns; ++j) {
      __builtin_prefetch(b + (j + kColumns) * p.b.stride + i);
      const auto w = load_up_to(d, b + j * p.b.stride + i, p.k - i);
      for (int r = 0; r < kRows; ++r) sums[r * kColumns + j] = hn::MulAdd(x[r], w, sums[r * kColumns + j]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < kColumns; ++j)
      c[r * p.c_stride + j] = hn::GetLane(hn::SumOfLanes(d, sums[r * kColumns + j]));
}

template <int kColumns>
HWY_INLINE void dots_of_all_rows(const FewRows& p, i64 column) {
  const float* b = p.b.data + column * p.b.stride;
  i64 r = 0;
  for (; r + 2 <= p.m; r += 2) dots<2, kColumns>(p, p.a + r * p.a_stride, b, p.c + r * p.c_stride + column);
  if (r < p.m) dots<1, kColumns>(p, p.a + r * p.a_stride, b, p.c + r * p.c_stride + column);
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
      const auto w = left > 0 ? load_up_to(d, b + v * width, left) : hn::Zero(d);
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
  if (p.b.transposed) {
    i64 j = begin;
    for (; j + kDots <= end; j += kDots) dots_of_all_rows<kDots>(p, j);
    for (; j < end; ++j) dots_of_all_rows<1>(p, j);
    return;
  }
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
  constexpr std::int64_t kColumns = 64;  // of one thread at a time
  FewRows p{m, k, nullptr, 0, b, c, c_stride};
  p.a = as_rows(m, k, a, p.a_stride);
  for_chunks(n, kColumns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(few_rows_part)(p, begin, end);
  });
}

}  // namespace bora::kernels
#endif
