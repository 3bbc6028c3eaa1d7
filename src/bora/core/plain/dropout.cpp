// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/dropout.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_ops.h>

#include "bora/core/kernels/cpu/random.h"
#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

Tensor dropout(const Tensor& x, double p, Key key, const BlockOf& block) {
  Tensor mask = at::_ops::ones::call(x.sym_sizes(), at::kFloat, {}, at::kCPU, {});
  float* factors = mask.mutable_data_ptr<float>();
  block.each_run(x.sizes(), [&](std::int64_t at, std::int64_t place, std::int64_t count) {
    kernels::dropout(key, place, count, static_cast<float>(p), factors + at, factors + at);
  });
  const Tensor wide = widened(x);
  return wide.mul(mask.to(wide.options())).to(x.scalar_type());
}

}  // namespace bora::core::plain
