// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Vector helpers shared by all kernels, compiled once for each instruction set. fp32 functions are within
// about 1.5 ulp (tanh and normal_cdf 4) of the exact value; polynomials interpolate at Chebyshev nodes.
// Reductions use 8 lanes on every instruction set, so that AVX2 and AVX-512 add in one order.
#if defined(BORA_CORE_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BORA_CORE_KERNELS_MATH_INL_H_
#undef BORA_CORE_KERNELS_MATH_INL_H_
#else
#define BORA_CORE_KERNELS_MATH_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;    ///< elementwise work: the widest vectors there are
using Lane8 = hn::CappedTag<float, 8>;  ///< sums
template <class D>
HWY_INLINE std::int64_t lanes(D d) {
  return static_cast<std::int64_t>(hn::Lanes(d));
}

// ---- the last, partial vector of a row: zeros stand in for what is missing, and rounding is that of a full
// vector

template <class D>
HWY_INLINE hn::Vec<D> load_part(D d, const float* p, std::int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
#else
  HWY_ALIGN float part[hn::MaxLanes(d)] = {};
  std::memcpy(part, p, static_cast<std::size_t>(n) * sizeof(float));
  return hn::Load(d, part);
#endif
}

template <class D>
HWY_INLINE void store_part(hn::Vec<D> v, D d, float* p, std::int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(n)), d, p);
#else
  HWY_ALIGN float part[hn::MaxLanes(d)];
  hn::Store(v, d, part);
  std::memcpy(p, part, static_cast<std::size_t>(n) * sizeof(float));
#endif
}

/// Horner's rule, highest power first.
template <class D, std::size_t N>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const float (&c)[N]) {
  auto y = hn::Set(d, c[0]);
  for (std::size_t i = 1; i < N; ++i) y = hn::MulAdd(y, x, hn::Set(d, c[i]));
  return y;
}

/// e^x: 0 below -87.33, infinite above 88.37, NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto low = hn::Set(d, -87.33654F);
  // In this order x86 returns the NaN, not the bound. Below `low` anything may come out: it is replaced.
  const auto y = hn::Min(hn::Set(d, 89.0F), x);
  // Adding 1.5·2^23 rounds to an integer n, and leaves n + 127, an exponent, in the low bits.
  const auto magic = hn::Set(d, 12582912.0F + 127.0F);
  const auto shifted = hn::MulAdd(y, hn::Set(d, 1.44269504F), magic);
  const auto n = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), y);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  constexpr float kC[] = {0.0001989108046F, 0.001393373072F, 0.008333310845F,
                          0.0416664642F,    0.1666666668F,   0.5F};
  const auto p = hn::MulAdd(polynomial(d, r, kC), hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0F)));
  const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, low), hn::Mul(p, power));
}

/// Natural logarithm of a positive, normal x.
template <class D>
HWY_INLINE hn::Vec<D> log(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  // x = m·2^e with m in [sqrt(1/2), sqrt(2))
  const auto bits = hn::Sub(hn::BitCast(di, x), hn::Set(di, 0x3f3504f3));
  const auto e = hn::ConvertTo(d, hn::ShiftRight<23>(bits));
  const auto mantissa = hn::Add(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f3504f3));
  const auto m = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0F));
  constexpr float kC[] = {0.06971611471F, -0.1147973385F, 0.1168541992F,  -0.1242568733F, 0.1424905765F,
                          -0.1666780232F, 0.2000071575F,  -0.2499999696F, 0.3333333118F};
  const auto square = hn::Mul(m, m);
  auto y = hn::Mul(polynomial(d, m, kC), hn::Mul(m, square));
  y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4F), y);
  y = hn::NegMulAdd(hn::Set(d, 0.5F), square, y);
  return hn::MulAdd(e, hn::Set(d, 0.693359375F), hn::Add(m, y));
}

template <class D>
HWY_INLINE hn::Vec<D> tanh(D d, hn::Vec<D> x) {
  const auto a = hn::Abs(x);
  const auto z = hn::Mul(x, x);
  constexpr float kC[] = {-0.006096714166F, 0.020997179F, -0.05385090958F, 0.1333276974F, -0.3333332894F};
  const auto small = hn::MulAdd(hn::Mul(polynomial(d, z, kC), z), a, a);
  const auto is_small = hn::Lt(a, hn::Set(d, 0.625F));
  if (hn::AllTrue(d, is_small)) return hn::CopySign(small, x);  // as soft caps nearly always find it
  const auto one = hn::Set(d, 1.0F);
  const auto e = exp(d, hn::Add(a, a));
  const auto large = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(e, one)));
  return hn::CopySign(hn::IfThenElse(is_small, small, large), x);
}

template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

/// Cumulative normal distribution; `gaussian` = exp(-x²/2). The lower tail keeps its relative accuracy.
template <class D>
HWY_INLINE hn::Vec<D> normal_cdf(D d, hn::Vec<D> x, hn::Vec<D> gaussian) {
  constexpr float kC[] = {0.03766544501F,  -0.2160984141F, 0.441190834F,   -0.3941931375F, 0.3542767842F,
                          -0.04674095865F, 0.1305610579F,  0.09291557774F, 0.1004560086F,  -3.319707973e-5F};
  const auto one = hn::Set(d, 1.0F);
  const auto t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.25F), hn::Abs(x), one));
  const auto tail = hn::Mul(gaussian, polynomial(d, t, kC));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

/// Sine and cosine of 2π·turn/2^32.
template <class D>
HWY_INLINE void sincos_turn(D d, hn::Vec<hn::RebindToUnsigned<D>> turn, hn::Vec<D>& sine,
                            hn::Vec<D>& cosine) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  // Nearest quarter turn and what remains, exactly.
  const auto quarter = hn::ShiftRight<30>(hn::Add(turn, hn::Set(du, 1U << 29)));
  const auto rest = hn::BitCast(di, hn::Sub(turn, hn::ShiftLeft<30>(quarter)));
  const auto r = hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, 1.46291807926715968e-9F));  // 2π/2^32
  const auto z = hn::Mul(r, r);
  constexpr float kS[] = {-0.0001958789038F, 0.008332748268F, -0.1666666466F};
  constexpr float kC[] = {2.454794158e-5F, -0.001388830303F, 0.04166666466F};
  const auto s = hn::MulAdd(polynomial(d, z, kS), hn::Mul(z, r), r);
  const auto c =
      hn::MulAdd(polynomial(d, z, kC), hn::Mul(z, z), hn::NegMulAdd(hn::Set(d, 0.5F), z, hn::Set(d, 1.0F)));
  const auto odd = hn::MaskFromVec(
      hn::BitCast(d, hn::VecFromMask(du, hn::Ne(hn::And(quarter, hn::Set(du, 1U)), hn::Zero(du)))));
  const auto sine_sign = hn::BitCast(d, hn::ShiftLeft<31>(hn::ShiftRight<1>(quarter)));
  const auto next = hn::Add(quarter, hn::Set(du, 1U));
  const auto cosine_sign = hn::BitCast(d, hn::ShiftLeft<31>(hn::ShiftRight<1>(next)));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), sine_sign);
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), cosine_sign);
}

/// Sum of all lanes in a fixed order.
HWY_INLINE float sum_lanes(Lane8 d, hn::Vec<Lane8> v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#endif
