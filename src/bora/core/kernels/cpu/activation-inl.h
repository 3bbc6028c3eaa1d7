// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Activations as functors: value(x), and both(x) = value and derivative.
#if defined(BORA_CORE_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BORA_CORE_KERNELS_ACTIVATION_INL_H_
#undef BORA_CORE_KERNELS_ACTIVATION_INL_H_
#else
#define BORA_CORE_KERNELS_ACTIVATION_INL_H_
#endif

#include "bora/core/kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bora::kernels {
namespace HWY_NAMESPACE {

using WideVec = hn::Vec<Wide>;
HWY_INLINE WideVec wide(float x) { return hn::Set(Wide(), x); }

/// x·s(c·x) and its derivative s·(1 + c·x·(1 - s)), s the logistic function; `slope` is d(argument)/dx.
HWY_INLINE WideVec swish_slope(WideVec x, WideVec s, WideVec slope) {
  return hn::MulAdd(hn::Mul(hn::Mul(x, s), hn::Sub(wide(1.0F), s)), slope, s);
}

struct Silu {
  static HWY_INLINE WideVec value(WideVec x) { return hn::Mul(x, sigmoid(Wide(), x)); }
  static HWY_INLINE void both(WideVec x, WideVec& value, WideVec& slope) {
    const auto s = sigmoid(Wide(), x);
    value = hn::Mul(x, s);
    slope = swish_slope(x, s, wide(1.0F));
  }
};

struct QuickGelu {
  static HWY_INLINE WideVec value(WideVec x) { return hn::Mul(x, sigmoid(Wide(), hn::Mul(x, wide(1.702F)))); }
  static HWY_INLINE void both(WideVec x, WideVec& value, WideVec& slope) {
    const auto s = sigmoid(Wide(), hn::Mul(x, wide(1.702F)));
    value = hn::Mul(x, s);
    slope = swish_slope(x, s, wide(1.702F));
  }
};

/// x/2·(1 + tanh(u)) = x·s(2u), u = sqrt(2/π)·(x + 0.044715·x³).
struct GeluTanh {
  static constexpr float kTwo = 1.5957691216F;     // 2·sqrt(2/π)
  static constexpr float kCubic = 0.07135481283F;  // 0.044715 of it
  static HWY_INLINE WideVec gate(WideVec x) {
    const auto inner = hn::MulAdd(hn::Mul(x, x), wide(kCubic), wide(kTwo));
    return sigmoid(Wide(), hn::Mul(x, inner));
  }
  static HWY_INLINE WideVec value(WideVec x) { return hn::Mul(x, gate(x)); }
  static HWY_INLINE void both(WideVec x, WideVec& value, WideVec& slope) {
    const auto s = gate(x);
    value = hn::Mul(x, s);
    slope = swish_slope(x, s, hn::MulAdd(hn::Mul(x, x), wide(3 * kCubic), wide(kTwo)));
  }
};

/// x·Φ(x).
struct GeluErf {
  static HWY_INLINE WideVec gaussian(WideVec x) { return exp(Wide(), hn::Mul(hn::Mul(x, x), wide(-0.5F))); }
  static HWY_INLINE WideVec value(WideVec x) { return hn::Mul(x, normal_cdf(Wide(), x, gaussian(x))); }
  static HWY_INLINE void both(WideVec x, WideVec& value, WideVec& slope) {
    const auto g = gaussian(x);
    const auto phi = normal_cdf(Wide(), x, g);
    value = hn::Mul(x, phi);
    slope = hn::MulAdd(hn::Mul(x, g), wide(0.3989422804F), phi);  // 1/sqrt(2π)
  }
};

struct Relu {
  static HWY_INLINE WideVec value(WideVec x) { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(Wide())), x); }
  static HWY_INLINE void both(WideVec x, WideVec& result, WideVec& slope) {
    result = value(x);
    slope = hn::IfThenElseZero(hn::Gt(x, hn::Zero(Wide())), wide(1.0F));
  }
};

struct Sigmoid {
  static HWY_INLINE WideVec value(WideVec x) { return sigmoid(Wide(), x); }
  static HWY_INLINE void both(WideVec x, WideVec& result, WideVec& slope) {
    result = value(x);
    slope = hn::Mul(result, hn::Sub(wide(1.0F), result));
  }
};

struct Tanh {
  static HWY_INLINE WideVec value(WideVec x) { return tanh(Wide(), x); }
  static HWY_INLINE void both(WideVec x, WideVec& result, WideVec& slope) {
    result = value(x);
    slope = hn::NegMulAdd(result, result, wide(1.0F));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace bora::kernels
HWY_AFTER_NAMESPACE();

#endif
