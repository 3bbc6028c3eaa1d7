// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/fp8.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/frexp.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <tuple>

#include "bora/core/kernels/cpu/fp8.h"
#include "bora/core/plain/step_ops.h"

namespace bora::core::plain {

using at::Tensor;

// 2^floor(log2(most / largest)), in double: the quotient is a power of two only where it is one exactly.
Narrow8 quantize(const Tensor& x, Fp8 format, const Tensor& most_of_x) {
  const double most = static_cast<double>(kernels::largest_of(format));
  const Tensor wide = x.to(at::kFloat), largest = most_of_x.to(at::kDouble);
  const Tensor exponent =
      std::get<1>(at::frexp(largest.reciprocal().mul(most))).sub(1).clamp_max(126).to(at::kDouble);
  const Tensor one = at::ones_like(largest);
  const auto power = [&](const Tensor& e) {
    const Tensor p = at::where(largest.gt(0), at::ldexp(one, e), one);
    return at::where(largest.isnan(), largest, p).to(at::kFloat);
  };
  const Tensor scaled = wide.mul(power(exponent)).clamp(-most, most);
  const Tensor y = scaled.to(format == Fp8::e4m3 ? at::kFloat8_e4m3fn : at::kFloat8_e5m2);
  return {y, y.t().contiguous(), power(exponent.neg())};
}

Tensor largest(const Tensor& x) { return max_abs(x.to(at::kFloat)).to(at::kFloat).view({1}); }

}  // namespace bora::core::plain
