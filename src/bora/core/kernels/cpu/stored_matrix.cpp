// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/stored_matrix.h"

#include <algorithm>
#include <cmath>

#include "bora/core/kernels/cpu/few_rows.h"
#include "bora/core/kernels/cpu/rows_apart.h"
#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/stored_matrix.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"
#include "bora/core/kernels/cpu/stored-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;

float greatest_magnitude(const float* x, i64 n) {
  const Wide d;
  auto most = hn::Zero(d);
  for (i64 i = 0; i < n; i += lanes(d)) most = hn::Max(most, hn::Abs(load_weights(d, x + i, n - i)));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

void int8_row(const float* x, i64 n, float factor, std::int8_t* out) {
  const Wide d;
  const hn::Rebind<std::int8_t, Wide> narrow;
  HWY_ALIGN std::int8_t part[hn::MaxLanes(narrow)];
  for (i64 i = 0; i < n; i += lanes(d)) {
    const auto scaled = hn::Mul(load_weights(d, x + i, n - i), hn::Set(d, factor));
    hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(scaled)), narrow, part);
    std::copy_n(part, std::min(lanes(d), n - i), out + i);
  }
}

template <class W>
void widen_row(const W* x, i64 n, float scale, float* out) {
  const Wide d;
  for (i64 i = 0; i < n; i += lanes(d)) {
    const auto v = hn::Mul(load_weights(d, x + i, n - i), hn::Set(d, scale));
    n - i >= lanes(d) ? hn::StoreU(v, d, out + i) : store_part(v, d, out + i, n - i);
  }
}
void widen_bf16(const std::uint16_t* x, i64 n, float scale, float* out) { widen_row(x, n, scale, out); }
void widen_int8(const std::int8_t* x, i64 n, float scale, float* out) { widen_row(x, n, scale, out); }

void scale_row(float* c, const float* scales, i64 n) {
  const Wide d;
  for (i64 j = 0; j < n; j += lanes(d)) {
    const auto v = hn::Mul(load_weights(d, c + j, n - j), load_weights(d, scales + j, n - j));
    n - j >= lanes(d) ? hn::StoreU(v, d, c + j) : store_part(v, d, c + j, n - j);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(greatest_magnitude);
HWY_EXPORT(int8_row);
HWY_EXPORT(widen_bf16);
HWY_EXPORT(widen_int8);
HWY_EXPORT(scale_row);

using i64 = std::int64_t;

constexpr i64 kRows = 16;  // of one thread at a time

// A block of widened weights: stays in the second level of cache, and is wide enough for large tiles.
i64 outputs_at_a_time(i64 inputs) {
  constexpr i64 kFloats = i64{1} << 19;
  return std::max<i64>(64, kFloats / std::max<i64>(1, inputs) / 64 * 64);
}

}  // namespace

void store_int8(i64 outputs, i64 inputs, const float* weights, std::int8_t* out, float* scales) {
  for_chunks(outputs, kRows, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; ++row) {
      const float* const x = weights + row * inputs;
      const float scale = HWY_DYNAMIC_DISPATCH(greatest_magnitude)(x, inputs) / 127;
      // rows of denormal numbers, whose factor would be infinite, are zeros
      const bool counts = scale > 0 && std::isfinite(1 / scale);
      scales[row] = counts ? scale : 0;
      HWY_DYNAMIC_DISPATCH(int8_row)(x, inputs, counts ? 1 / scale : 0, out + row * inputs);
    }
  });
}

void widen(const StoredMatrix& b, i64 begin, i64 end, bool scaled, float* out) {
  for_chunks(end - begin, kRows, [&](i64 first, i64 last) {
    for (i64 row = first; row < last; ++row) {
      const i64 at = (begin + row) * b.inputs;
      if (b.int8 != nullptr) HWY_DYNAMIC_DISPATCH(widen_int8)
      (b.int8 + at, b.inputs, scaled ? b.scales[begin + row] : 1, out + row * b.inputs);
      else HWY_DYNAMIC_DISPATCH(widen_bf16)(b.bf16 + at, b.inputs, 1, out + row * b.inputs);
    }
  });
}

void stored_matmul(i64 m, MatrixRef a, const StoredMatrix& b, float* c, i64 c_stride) {
  if (m <= 0) return;
  if (are_few_rows(m)) return few_rows_matmul(m, a, b, c, c_stride);
  if (b.bf16 != nullptr && reads_halves(m, b.outputs, b.inputs))
    return matmul(m, b.outputs, b.inputs, a, matrix_of_halves(b.bf16, b.inputs, true), c, c_stride);
  const i64 block = std::min(b.outputs, outputs_at_a_time(b.inputs));
  float* const wide = scratch(Scratch::widened, block * b.inputs);
  for (i64 j = 0; j < b.outputs; j += block) {
    const i64 n = std::min(block, b.outputs - j);
    widen(b, j, j + n, false, wide);
    matmul(m, n, b.inputs, a, {wide, b.inputs, true, true}, c + j, c_stride);
  }
  if (b.int8 == nullptr) return;
  for_chunks(m, kRows, [&](i64 begin, i64 end) {
    for (i64 row = begin; row < end; ++row)
      HWY_DYNAMIC_DISPATCH(scale_row)(c + row * c_stride, b.scales, b.outputs);
  });
}

}  // namespace bora::kernels
#endif
