// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/rope.h"

#include <algorithm>

#include "bora/core/kernels/cpu/scratch.h"
#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/rope.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

/// One head's vector. Both halves are read before either is written: x and y may be the same.
void rotate(std::int64_t half, const float* x, const float* cos, const float* sin, float* y, bool inverse) {
  const Wide d;
  const std::int64_t width = lanes(d);
  const auto sign = inverse ? hn::Set(d, -0.0F) : hn::Zero(d);
  for (std::int64_t i = 0; i < half; i += width) {
    const std::int64_t n = std::min(width, half - i);
    const bool whole = n == width;
    const auto load = [&](const float* p) HWY_ATTR { return whole ? hn::LoadU(d, p) : load_part(d, p, n); };
    const auto store = [&](hn::Vec<Wide> v, float* p)
                           HWY_ATTR { whole ? hn::StoreU(v, d, p) : store_part(v, d, p, n); };
    const auto a = load(x + i), b = load(x + half + i);
    const auto c = load(cos + i), s = hn::Xor(load(sin + i), sign);
    store(hn::NegMulAdd(b, s, hn::Mul(a, c)), y + i);
    store(hn::MulAdd(a, s, hn::Mul(b, c)), y + half + i);
  }
}

/// The same where even and odd dimensions turn together. A pair is read before it is written.
void rotate_neighbours(std::int64_t half, const float* x, const float* cos, const float* sin, float* y,
                       bool inverse) {
  const Wide d;
  const std::int64_t width = lanes(d);
  const auto sign = inverse ? hn::Set(d, -0.0F) : hn::Zero(d);
  const auto turn = [&](const float* from, hn::Vec<Wide> c, hn::Vec<Wide> s, float* to) HWY_ATTR {
    hn::Vec<Wide> a, b;
    hn::LoadInterleaved2(d, from, a, b);
    s = hn::Xor(s, sign);
    hn::StoreInterleaved2(hn::NegMulAdd(b, s, hn::Mul(a, c)), hn::MulAdd(a, s, hn::Mul(b, c)), d, to);
  };
  std::int64_t i = 0;
  for (; i + width <= half; i += width)
    turn(x + 2 * i, hn::LoadU(d, cos + i), hn::LoadU(d, sin + i), y + 2 * i);
  if (i == half) return;
  const std::int64_t n = half - i;
  float rest[2 * hn::MaxLanes(Wide())] = {};
  std::copy_n(x + 2 * i, 2 * n, rest);
  turn(rest, load_part(d, cos + i, n), load_part(d, sin + i, n), rest);
  std::copy_n(rest, 2 * n, y + 2 * i);
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
HWY_EXPORT(rotate);
HWY_EXPORT(rotate_neighbours);

void rope(const RopeShape& s, Values x, const float* cos, const float* sin, Results y, bool inverse) {
  const std::int64_t chunk = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, s.heads * s.dim));
  for_chunks(s.batch * s.positions, chunk, [&](std::int64_t begin, std::int64_t end) {
    float *room = nullptr, *result = nullptr;
    if (x.halves || y.halves) {
      room = scratch(Scratch::row, 2 * s.dim);
      result = room + s.dim;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / s.positions, p = i % s.positions;
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t into = b * s.y_batch + p * s.y_position + h * s.y_head;
        const float* from = x.wide(b * s.x_batch + p * s.x_position + h * s.x_head, s.dim, room);
        float* to = y.wide(into, result);
        const float *c = cos + p * s.half, *d = sin + p * s.half;
        if (s.neighbours)
          HWY_DYNAMIC_DISPATCH(rotate_neighbours)(s.half, from, c, d, to, inverse);
        else
          HWY_DYNAMIC_DISPATCH(rotate)(s.half, from, c, d, to, inverse);
        if (from != to) std::copy(from + 2 * s.half, from + s.dim, to + 2 * s.half);
        y.keep(into, s.dim, result);
      }
    }
  });
}

}  // namespace bora::kernels
#endif
