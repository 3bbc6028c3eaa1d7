// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/step_ops.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <tuple>

#include "bora/core/kernels/cpu/square_sum.h"

namespace bora::core::plain {

using at::Tensor;

// In double, rounded once: the kernel's roundings are what they differ by.
void adamw(const kernels::AdamW& s, const Tensor& p, const Tensor& gradient, const Tensor& mean,
           const Tensor& square) {
  const Tensor g = gradient.view(p.sizes()).to(at::kDouble).mul(s.gradient_scale);
  const Tensor m = mean.to(at::kDouble).mul(s.beta1).add(g, 1.0 - static_cast<double>(s.beta1));
  const Tensor v = square.to(at::kDouble).mul(s.beta2).add(g.mul(g), 1.0 - static_cast<double>(s.beta2));
  mean.copy_(m);
  square.copy_(v);
  Tensor numerator = m.div(s.correction1);
  if (s.nesterov) {
    numerator = m.mul(static_cast<double>(s.beta1) / s.correction1_next)
                    .add(g, (1.0 - static_cast<double>(s.beta1)) / s.correction1);
  }
  const Tensor old = p.to(at::kDouble);
  const Tensor step = numerator.div(v.div(s.correction2).sqrt().add(s.epsilon));
  p.copy_(old.sub(step.add(old, s.weight_decay), s.learning_rate));
}

void adamw(const kernels::AdamW& s, const Tensor& p, const Tensor& gradient, const Tensor& mean,
           const Tensor& square, const kernels::Rounding& rounding) {
  const Tensor m = mean.to(at::kFloat), v = square.to(at::kFloat);
  adamw(s, p, gradient, m, v);
  by_chance(mean, m, kernels::Half::low, rounding);
  by_chance(square, v, kernels::Half::high, rounding);
}

// The words are drawn on the host; the rest is whole numbers.
void by_chance(const Tensor& into, const Tensor& x, kernels::Half half, const kernels::Rounding& rounding) {
  Tensor words = at::empty({x.numel()}, at::kInt);
  kernels::chance_words(rounding, 0, x.numel(),
                        reinterpret_cast<std::uint32_t*>(words.mutable_data_ptr<std::int32_t>()));
  const auto half_of = [&](const Tensor& word) {
    return (half == kernels::Half::low ? word : word.bitwise_right_shift(16)).bitwise_and(0xffff);
  };
  const Tensor chance = half_of(words.to(x.device()).to(at::kLong)).view(x.sizes());
  const Tensor bits = x.contiguous().view(at::kInt).to(at::kLong).bitwise_and(0xffffffffLL);
  const Tensor as_it_is = at::where(x.isnan(), bits.bitwise_or(0x00400000LL), bits);
  const Tensor high = at::where(x.isfinite(), bits.add(chance), as_it_is).bitwise_right_shift(16);
  into.copy_(high.to(at::kShort).view(at::kBFloat16).view(into.sizes()));
}

Tensor max_abs(const Tensor& x) {
  if (x.numel() == 0) return at::zeros({}, x.options());
  const Tensor most = x.abs().max();
  return at::where(most.isfinite(), most, most.sub(most));  // inf - inf is NaN
}

// As kernels::SquareSum: whole numbers of units, in pieces whose sums fit in 64 bits.
Tensor square_numbers(const Tensor& x, const Tensor& largest) {
  constexpr std::int64_t kTerms = 1 << 20;
  constexpr double kCoarse = 0x1.8p12, kFine = 0x1.8p-28;
  // 2^-e without a table of powers: largest = mantissa · 2^e, and the quotient is exact.
  const Tensor most = largest.to(at::kDouble);
  const Tensor mantissa = std::get<0>(at::frexp(most));
  const Tensor scale = at::where(most.gt(0), mantissa.div(most), at::ones_like(most));
  const Tensor flat = x.reshape({-1});
  Tensor sum = at::zeros({4}, flat.options().dtype(at::kLong));
  for (std::int64_t first = 0; first < flat.numel(); first += kTerms) {
    const auto count = std::min(kTerms, flat.numel() - first);
    const Tensor v = flat.narrow(0, first, count).to(at::kDouble).mul(scale);
    const Tensor square = v.mul(v);
    const Tensor rounded = square.add(kCoarse).sub(kCoarse);
    const Tensor rest = square.sub(rounded).add(kFine).sub(kFine);
    const Tensor high = rounded.mul(0x1p40).to(at::kLong).sum(), low = rest.mul(0x1p80).to(at::kLong).sum();
    constexpr int kBits = kernels::SquareSum::kNumberBits;
    constexpr std::int64_t kRest = (std::int64_t{1} << kBits) - 1;
    sum = sum.add(
        at::stack({high.__rshift__(kBits), high.__and__(kRest), low.__rshift__(kBits), low.__and__(kRest)}));
  }
  return sum.to(at::kDouble);
}

std::int64_t first_non_finite(const Tensor& x) {
  if (x.numel() == 0) return -1;
  const Tensor bad = x.reshape({-1}).isfinite().logical_not().to(at::kByte);
  const auto at = bad.argmax().item().toLong();
  return bad.select(0, at).item().toLong() != 0 ? at : -1;
}

}  // namespace bora::core::plain
