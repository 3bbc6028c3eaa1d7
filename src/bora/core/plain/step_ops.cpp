// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/step_ops.h"

#include <ATen/core/Tensor.h>

#include <cmath>

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

float max_abs(const Tensor& x) {
  if (x.numel() == 0) return 0;
  const float most = x.abs().max().item().toFloat();
  return std::isfinite(most) ? most : NAN;
}

// As kernels::SquareSum: whole numbers of units, in pieces whose sums fit in 64 bits.
void add_squares(kernels::SquareSum& sum, const Tensor& x) {
  constexpr std::int64_t kTerms = 1 << 20;
  constexpr double kCoarse = 0x1.8p12, kFine = 0x1.8p-28;
  const Tensor flat = x.reshape({-1});
  for (std::int64_t first = 0; first < flat.numel(); first += kTerms) {
    const auto count = std::min(kTerms, flat.numel() - first);
    const Tensor v = flat.narrow(0, first, count).to(at::kDouble).mul(std::ldexp(1.0, -sum.exponent()));
    const Tensor square = v.mul(v);
    const Tensor rounded = square.add(kCoarse).sub(kCoarse);
    const Tensor rest = square.sub(rounded).add(kFine).sub(kFine);
    const auto units = [](const Tensor& part, double unit) {
      return part.mul(unit).to(at::kLong).sum().item().toLong();
    };
    sum.add_units(units(rounded, 0x1p40), units(rest, 0x1p80));
  }
}

std::int64_t first_non_finite(const Tensor& x) {
  if (x.numel() == 0) return -1;
  const Tensor bad = x.reshape({-1}).isfinite().logical_not().to(at::kByte);
  const auto at = bad.argmax().item().toLong();
  return bad.select(0, at).item().toLong() != 0 ? at : -1;
}

}  // namespace bora::core::plain
