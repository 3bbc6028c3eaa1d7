// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/random.h"

#include <algorithm>
#include <cmath>

#include "bora/core/kernels/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bora/core/kernels/cpu/random.cpp"
#include "bora/core/kernels/cpu/targets.h"

#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#include "bora/core/kernels/cpu/math-inl.h"

#ifndef BORA_CORE_KERNELS_RANDOM_CPP_ONCE
#define BORA_CORE_KERNELS_RANDOM_CPP_ONCE
namespace bora::kernels {
/// Parameters of a distribution: uniform (low, width), normal (mean, std), truncated normal (erf of both
/// bounds and the bounds), dropout (threshold, factor).
struct DrawRule {
  float a = 0, b = 0, low = 0, high = 0;
  std::uint64_t threshold = 0;
};
}  // namespace bora::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using i64 = std::int64_t;
using WideU = hn::RebindToUnsigned<Wide>;
using Float = hn::Vec<Wide>;
using Word = hn::Vec<WideU>;
constexpr i64 kMaxUnit = 4 * hn::MaxLanes(Wide());

HWY_INLINE void multiply(Word a, std::uint32_t by, Word& high, Word& low) {
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * by;
  high = hn::Set(WideU(), static_cast<std::uint32_t>(product >> 32));
  low = hn::Set(WideU(), static_cast<std::uint32_t>(product));
#else
  const WideU d;
  const hn::Repartition<std::uint64_t, WideU> dd;
  const auto m = hn::Set(d, by);
  const auto even = hn::BitCast(d, hn::MulEven(a, m));
  const auto odd = hn::BitCast(d, hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(dd, a))), m));
  high = hn::OddEven(odd, hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(dd, even))));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(hn::BitCast(dd, odd))), even);
#endif
}

/// Words of as many consecutive blocks as there are lanes (Key::words, one block a lane).
HWY_INLINE void philox(Key key, std::uint64_t block, Word (&w)[4]) {
  const WideU d;
  const auto low = static_cast<std::uint32_t>(block), high = static_cast<std::uint32_t>(block >> 32);
  w[0] = hn::Iota(d, low);
  const auto wrapped = hn::Lt(w[0], hn::Set(d, low));
  w[1] = hn::IfThenElse(wrapped, hn::Set(d, high + 1), hn::Set(d, high));
  w[2] = hn::Set(d, static_cast<std::uint32_t>(key.stream));
  w[3] = hn::Set(d, static_cast<std::uint32_t>(key.stream >> 32));
  auto k0 = static_cast<std::uint32_t>(key.key), k1 = static_cast<std::uint32_t>(key.key >> 32);
  for (int round = 0; round < 10; ++round) {
    Word high0, low0, high1, low1;
    multiply(w[0], 0xD2511F53U, high0, low0);
    multiply(w[2], 0xCD9E8D57U, high1, low1);
    w[0] = hn::Xor(hn::Xor(high1, w[1]), hn::Set(d, k0));
    w[1] = low1;
    w[2] = hn::Xor(hn::Xor(high0, w[3]), hn::Set(d, k1));
    w[3] = low0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

/// (w + 1/2)·2^-32, which may round to 1 but never to 0.
HWY_INLINE Float open_unit(Word w) {
  const Wide d;
  const hn::RebindToSigned<Wide> di;
  const auto high = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<16>(w)));
  const auto low = hn::ConvertTo(d, hn::BitCast(di, hn::And(w, hn::Set(WideU(), 0xffffU))));
  const auto scale = hn::Set(d, 0x1p-32F);
  return hn::MulAdd(high, hn::Set(d, 0x1p-16F), hn::MulAdd(low, scale, hn::Set(d, 0x1p-33F)));
}

struct Uniform {
  static HWY_INLINE void draw(const DrawRule& r, const Word (&w)[4], Float (&x)[4]) {
    const Wide d;
    const hn::RebindToSigned<Wide> di;
    for (int i = 0; i < 4; ++i) {
      const auto u = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(w[i])));
      x[i] = hn::MulAdd(hn::Mul(u, hn::Set(d, 0x1p-24F)), hn::Set(d, r.b), hn::Set(d, r.a));
      // Rounding may reach the excluded bound.
      x[i] = hn::IfThenElse(hn::Lt(x[i], hn::Set(d, r.high)), x[i], hn::Set(d, r.low));
    }
  }
};

struct Normal {
  static HWY_INLINE void draw(const DrawRule& r, const Word (&w)[4], Float (&x)[4]) {
    const Wide d;
    for (int i = 0; i < 4; i += 2) {
      const auto square = hn::Mul(log(d, open_unit(w[i])), hn::Set(d, -2.0F));
      const auto radius = hn::Mul(hn::Sqrt(square), hn::Set(d, r.b));
      Float sine, cosine;
      sincos_turn(d, w[i + 1], sine, cosine);
      x[i] = hn::MulAdd(radius, cosine, hn::Set(d, r.a));
      x[i + 1] = hn::MulAdd(radius, sine, hn::Set(d, r.a));
    }
  }
};

/// Inverse of erf: x times a polynomial in -log(1 - x²), or in its root towards the ends (Giles 2010's
/// scheme).
HWY_INLINE Float inverse_erf(Float x) {
  const Wide d;
  constexpr float kCentre[] = {2.260593596e-8F,  3.422247632e-7F,  -3.454779058e-6F,
                               -4.380347225e-6F, 0.0002183129783F, -0.001253758883F,
                               -0.004177346516F, 0.2466407663F,    1.501409351F};
  constexpr float kEnds[] = {-0.0001809812427F, 0.001199245838F, -0.003375731259F, 0.005753023872F,
                             -0.007713505303F,  0.0094440156F,   1.001681178F,     2.832976645F};
  const auto one = hn::Set(d, 1.0F);
  const auto rest = hn::Max(hn::Mul(hn::Sub(one, x), hn::Add(one, x)), hn::Set(d, 0x1p-24F));
  const auto w = hn::Neg(log(d, rest));
  const auto centre = polynomial(d, hn::Sub(w, hn::Set(d, 2.5F)), kCentre);
  const auto ends = polynomial(d, hn::Sub(hn::Sqrt(hn::Max(w, hn::Zero(d))), hn::Set(d, 3.0F)), kEnds);
  return hn::Mul(x, hn::IfThenElse(hn::Lt(w, hn::Set(d, 5.0F)), centre, ends));
}

struct TruncatedNormal {
  static HWY_INLINE void draw(const DrawRule& r, const Word (&w)[4], Float (&x)[4]) {
    const Wide d;
    for (int i = 0; i < 4; ++i) {
      const auto e = hn::MulAdd(open_unit(w[i]), hn::Set(d, r.b), hn::Set(d, r.a));
      const auto z = hn::Mul(inverse_erf(e), hn::Set(d, 1.41421356F));
      x[i] = hn::Min(hn::Max(z, hn::Set(d, r.low)), hn::Set(d, r.high));
    }
  }
};

/// 1 where the element is kept, else 0.
struct Keep {
  static HWY_INLINE void draw(const DrawRule& r, const Word (&w)[4], Float (&x)[4]) {
    const Wide d;
    const WideU du;
    for (int i = 0; i < 4; ++i) {
      if (r.threshold > 0xffffffffU) {
        x[i] = hn::Zero(d);
        continue;
      }
      const auto dropped =
          hn::VecFromMask(du, hn::Lt(w[i], hn::Set(du, static_cast<std::uint32_t>(r.threshold))));
      x[i] = hn::BitCast(d, hn::AndNot(dropped, hn::BitCast(du, hn::Set(d, 1.0F))));
    }
  }
};

/// The words themselves.
struct Raw {
  static HWY_INLINE void draw(const DrawRule& /*r*/, const Word (&w)[4], Word (&x)[4]) {
    for (int i = 0; i < 4; ++i) x[i] = w[i];
  }
};

/// One unit: 4·lanes elements from block `block` on.
template <class Draw, class T>
HWY_INLINE void draw_unit(Key key, const DrawRule& rule, std::uint64_t block, T* out) {
  const hn::Rebind<T, Wide> d;
  Word w[4];
  hn::Vec<decltype(d)> x[4];
  philox(key, block, w);
  Draw::draw(rule, w, x);
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) out[i] = hn::GetLane(x[i]);
  (void)d;
#else
  hn::StoreInterleaved4(x[0], x[1], x[2], x[3], d, out);
#endif
}

/// Elements [first, first + n) of the array into out.
template <class Draw, class T>
void draw(Key key, const DrawRule& rule, i64 first, i64 n, T* out) {
  const i64 unit = 4 * lanes(Wide());
  HWY_ALIGN T part[kMaxUnit];
  for (i64 at = first; at < first + n;) {
    const i64 begin = at / 4 * 4, end = std::min(begin + unit, first + n);
    const auto block = static_cast<std::uint64_t>(begin / 4);
    if (at == begin && end == begin + unit) {
      draw_unit<Draw>(key, rule, block, out + (at - first));
    } else {
      draw_unit<Draw>(key, rule, block, part);
      std::copy(part + (at - begin), part + (end - begin), out + (at - first));
    }
    at = end;
  }
}

void draw_uniform(Key key, const DrawRule& r, i64 first, i64 n, float* out) {
  draw<Uniform>(key, r, first, n, out);
}
void draw_normal(Key key, const DrawRule& r, i64 first, i64 n, float* out) {
  draw<Normal>(key, r, first, n, out);
}
void draw_truncated(Key key, const DrawRule& r, i64 first, i64 n, float* out) {
  draw<TruncatedNormal>(key, r, first, n, out);
}
void draw_keep(Key key, const DrawRule& r, i64 first, i64 n, float* out) {
  draw<Keep>(key, r, first, n, out);
}
void draw_words(Key key, i64 first, i64 n, std::uint32_t* out) { draw<Raw>(key, {}, first, n, out); }

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bora::kernels {
namespace {

HWY_EXPORT(draw_uniform);
HWY_EXPORT(draw_normal);
HWY_EXPORT(draw_truncated);
HWY_EXPORT(draw_keep);
HWY_EXPORT(draw_words);

constexpr std::int64_t kChunk = 16384;

}  // namespace

void uniform(Key key, std::int64_t first, std::int64_t n, float low, float high, float* out) {
  const DrawRule rule{.a = low, .b = high - low, .low = low, .high = high};
  for_chunks(n, kChunk, [&](auto begin, auto end) {
    HWY_DYNAMIC_DISPATCH(draw_uniform)(key, rule, first + begin, end - begin, out + begin);
  });
}

void normal(Key key, std::int64_t first, std::int64_t n, float mean, float std, float* out) {
  const DrawRule rule{.a = mean, .b = std};
  for_chunks(n, kChunk, [&](auto begin, auto end) {
    HWY_DYNAMIC_DISPATCH(draw_normal)(key, rule, first + begin, end - begin, out + begin);
  });
}

void truncated_normal(Key key, std::int64_t first, std::int64_t n, float low, float high, float scale,
                      float* out) {
  const double from = std::erf(static_cast<double>(low) / std::sqrt(2.0));
  const double to = std::erf(static_cast<double>(high) / std::sqrt(2.0));
  const DrawRule rule{
      .a = static_cast<float>(from), .b = static_cast<float>(to - from), .low = low, .high = high};
  for_chunks(n, kChunk, [&](auto begin, auto end) {
    HWY_DYNAMIC_DISPATCH(draw_truncated)(key, rule, first + begin, end - begin, out + begin);
    for (auto i = begin; i < end; ++i) out[i] *= scale;
  });
}

void words(Key key, std::int64_t first, std::int64_t n, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(draw_words)(key, first, n, out);
}

void dropout(Key key, std::int64_t first, std::int64_t n, float p, const float* x, float* y) {
  const DrawRule rule{.threshold = static_cast<std::uint64_t>(std::ceil(static_cast<double>(p) * 0x1p32))};
  const float factor = p < 1 ? 1 / (1 - p) : 0.0F;
  for_chunks(n, kChunk, [&](auto begin, auto end) {
    constexpr std::int64_t kBlock = 1024;
    float keep[kBlock];
    for (auto i = begin; i < end; i += kBlock) {
      const auto m = std::min(kBlock, end - i);
      HWY_DYNAMIC_DISPATCH(draw_keep)(key, rule, first + i, m, keep);
      for (std::int64_t j = 0; j < m; ++j) y[i + j] = keep[j] != 0 ? x[i + j] * factor : 0.0F;
    }
  });
}

}  // namespace bora::kernels
#endif
