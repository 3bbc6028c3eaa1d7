// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/reduce.h"

#include <algorithm>
#include <vector>

#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/kernels/cpu/values.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/reduce.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;
using Lane4 = hn::CappedTag<float, 4>;
using Double4 = hn::CappedTag<double, 4>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Products and sums in double: a fp32 partial sum over a chunk would lose about three digits.
template <bool kSquare>
double sum_chunk(const float* x, i64 n) {
  const Lane4 d;
  const Double4 dd;
  hn::Vec<Double4> sums[4] = {hn::Zero(dd), hn::Zero(dd), hn::Zero(dd), hn::Zero(dd)};
  for (i64 i = 0; i < n; i += 16) {
    for (int u = 0; u < 4; ++u) {
      const i64 left = n - i - 4 * u;
      if (left <= 0) break;
      const auto v =
          hn::PromoteTo(dd, left >= 4 ? hn::LoadU(d, x + i + 4 * u) : load_part(d, x + i + 4 * u, left));
      sums[u] = kSquare ? hn::MulAdd(v, v, sums[u]) : hn::Add(v, sums[u]);
    }
  }
  return hn::GetLane(hn::SumOfLanes(dd, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}
#else
template <bool kSquare>
double sum_chunk(const float* x, i64 n) {
  double sums[16] = {};
  for (i64 i = 0; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    sums[i % 16] += kSquare ? v * v : v;
  }
  double lane[4];
  for (int l = 0; l < 4; ++l) lane[l] = (sums[l] + sums[4 + l]) + (sums[8 + l] + sums[12 + l]);
  return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}
#endif

double sum_plain(const float* x, i64 n) { return sum_chunk<false>(x, n); }
double sum_squared(const float* x, i64 n) { return sum_chunk<true>(x, n); }

i64 find_non_finite(const float* x, i64 n) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> du;
  const auto exponent = hn::Set(du, 0x7f800000U);
  const i64 width = lanes(d);
  for (i64 i = 0; i < n; i += width) {
    const auto v = n - i >= width ? hn::LoadU(d, x + i) : load_part(d, x + i, n - i);
    const auto bad = hn::Eq(hn::And(hn::BitCast(du, v), exponent), exponent);
    const auto at = hn::FindFirstTrue(du, bad);
    if (at >= 0) return i + static_cast<i64>(at);
  }
  return -1;
}

void add_chunk(const float* a, const float* b, float* out, i64 n) {
  const Wide d;
  const i64 width = lanes(d);
  i64 i = 0;
  for (; i + width <= n; i += width) {
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

void scale_chunk(float* x, float by, i64 n) {
  const Wide d;
  const i64 width = lanes(d);
  const auto factor = hn::Set(d, by);
  i64 i = 0;
  for (; i + width <= n; i += width) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, x + i);
  for (; i < n; ++i) x[i] *= by;
}

// Adds half of the last kept bit, less one if that is even: ties go to even. A NaN keeps a bit of its payload
// set.
void to_bf16_chunk(const float* x, std::uint16_t* y, i64 n) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> du;
  const hn::RebindToSigned<Wide> di;
  const hn::Rebind<std::uint16_t, Wide> d16;
  const i64 width = lanes(d);
  HWY_ALIGN std::uint16_t part[hn::MaxLanes(d)];
  for (i64 i = 0; i < n; i += width) {
    const bool whole = n - i >= width;
    const auto v = whole ? hn::LoadU(d, x + i) : load_part(d, x + i, n - i);
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffU)));
    const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000U));
    const auto is_nan = hn::BitCast(du, hn::VecFromMask(d, hn::Ne(v, v)));
    const auto high = hn::ShiftRight<16>(hn::Or(hn::And(is_nan, quiet), hn::AndNot(is_nan, rounded)));
    const auto half = hn::DemoteTo(d16, hn::BitCast(di, high));
    if (whole) {
      hn::StoreU(half, d16, y + i);
    } else {
      hn::Store(half, d16, part);
      std::memcpy(y + i, part, static_cast<std::size_t>(n - i) * sizeof(std::uint16_t));
    }
  }
}

void from_bf16_chunk(const std::uint16_t* x, float* y, i64 n) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> du;
  const hn::Rebind<std::uint16_t, Wide> d16;
  const i64 width = lanes(d);
  i64 i = 0;
  for (; i + width <= n; i += width) {
    const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, x + i)));
    hn::StoreU(hn::BitCast(d, bits), d, y + i);
  }
  for (; i < n; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(x[i]) << 16;
    std::memcpy(y + i, &bits, sizeof bits);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(sum_plain);
HWY_EXPORT(sum_squared);
HWY_EXPORT(find_non_finite);
HWY_EXPORT(add_chunk);
HWY_EXPORT(scale_chunk);
HWY_EXPORT(to_bf16_chunk);
HWY_EXPORT(from_bf16_chunk);

// Large enough that starting a thread pays, small enough to balance.
constexpr std::int64_t kElementwise = 32768;

double sum_chunks(std::int64_t n, const float* x, double (*chunk)(const float*, std::int64_t)) {
  std::vector<double> sums(static_cast<std::size_t>((n + reduce_chunk - 1) / reduce_chunk));
  for_chunks(n, reduce_chunk, [&](std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(begin / reduce_chunk)] = chunk(x + begin, end - begin);
  });
  double total = 0;
  for (double s : sums) total += s;
  return total;
}

}  // namespace

double sum(std::int64_t n, const float* x) {
  return sum_chunks(n, x,
                    [](const float* p, std::int64_t m) { return HWY_DYNAMIC_DISPATCH(sum_plain)(p, m); });
}

double sum_of_squares(std::int64_t n, const float* x) {
  return sum_chunks(n, x,
                    [](const float* p, std::int64_t m) { return HWY_DYNAMIC_DISPATCH(sum_squared)(p, m); });
}

std::int64_t first_non_finite(std::int64_t n, const float* x) {
  std::vector<std::int64_t> found(static_cast<std::size_t>((n + kElementwise - 1) / kElementwise), -1);
  for_chunks(n, kElementwise, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = HWY_DYNAMIC_DISPATCH(find_non_finite)(x + begin, end - begin);
    if (at >= 0) found[static_cast<std::size_t>(begin / kElementwise)] = begin + at;
  });
  const auto first = std::find_if(found.begin(), found.end(), [](std::int64_t at) { return at >= 0; });
  return first == found.end() ? -1 : *first;
}

void add(std::int64_t n, Values a, Values b, Results out) {
  constexpr std::int64_t kPiece = 1024;  // of each, as fp32, stays in the first cache
  for_chunks(n, kElementwise, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) float room[3][kPiece];
    for (std::int64_t at = begin; at < end; at += kPiece) {
      const std::int64_t count = std::min(kPiece, end - at);
      float* const to = out.wide(at, room[2]);
      HWY_DYNAMIC_DISPATCH(add_chunk)(a.wide(at, count, room[0]), b.wide(at, count, room[1]), to, count);
      out.keep(at, count, to);
    }
  });
}

void add_into(std::int64_t n, float* a, const float* b) { add(n, a, b, a); }

void scale(std::int64_t n, float* x, float by) {
  for_chunks(n, kElementwise, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_chunk)(x + begin, by, end - begin);
  });
}

void fill(std::int64_t n, float* x, float value) {
  for_chunks(n, kElementwise,
             [&](std::int64_t begin, std::int64_t end) { std::fill(x + begin, x + end, value); });
}

void to_bf16_here(std::int64_t n, const float* x, std::uint16_t* y) {
  HWY_DYNAMIC_DISPATCH(to_bf16_chunk)(x, y, n);
}

void from_bf16_here(std::int64_t n, const std::uint16_t* x, float* y) {
  HWY_DYNAMIC_DISPATCH(from_bf16_chunk)(x, y, n);
}

void to_bf16(std::int64_t n, const float* x, std::uint16_t* y) {
  for_chunks(n, kElementwise,
             [&](std::int64_t begin, std::int64_t end) { to_bf16_here(end - begin, x + begin, y + begin); });
}

void from_bf16(std::int64_t n, const std::uint16_t* x, float* y) {
  for_chunks(n, kElementwise, [&](std::int64_t begin, std::int64_t end) {
    from_bf16_here(end - begin, x + begin, y + begin);
  });
}

}  // namespace bora::kernels
#endif
