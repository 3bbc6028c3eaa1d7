// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/norm.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/layer_norm_ops.h>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {
namespace {

using at::Tensor;
using Maybe = std::optional<Tensor>;

Maybe alike(const Maybe& parameter, const Tensor& x) {
  return parameter ? Maybe(parameter->to(x.scalar_type())) : std::nullopt;
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Maybe& weight, double eps) {
  const Tensor wide = widened(x);
  const Tensor y = wide.mul(wide.mul(wide).mean(at::IntArrayRef({-1}), true).add(eps).rsqrt());
  return (weight ? y.mul(weight->to(y.scalar_type())) : y).to(x.scalar_type());
}

Tensor layer_norm(const Tensor& x, const Maybe& weight, const Maybe& bias, double eps) {
  const Tensor wide = widened(x);
  const auto n = c10::SymInt(x.size(1));
  return at::_ops::layer_norm::call(wide, c10::SymIntArrayRef(&n, 1), alike(weight, wide), alike(bias, wide),
                                    eps, true)
      .to(x.scalar_type());
}

}  // namespace bora::core::plain
