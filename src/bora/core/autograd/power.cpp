// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/power.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/pow_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/pieces.h"

namespace bora::core {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor power_pieces(const Tensor& base, const Tensor& exponent) {
  const Tensor x = base.detach().contiguous().view(-1), p = exponent.detach().contiguous().view(-1);
  Tensor y = new_like(x);
  in_pieces(x.numel(), 1, [&](std::int64_t first, std::int64_t count) {
    Tensor piece = y.narrow(0, first, count);
    at::_ops::pow_Tensor_Tensor_out::call(x.narrow(0, first, count), p.narrow(0, first, count), piece);
  });
  return y.view(base.sizes());
}

struct Power : Function<Power> {
  static Tensor forward(AutogradContext* ctx, const Tensor& base, const Tensor& exponent) {
    Tensor y = power_pieces(base, exponent);
    ctx->save_for_backward({base, exponent, y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &p = saved[1], &y = saved[2], &g = grads[0], zero = g.new_zeros({});
    Tensor dx, dp;
    if (ctx->needs_input_grad(0)) dx = g.mul(p.mul(power_pieces(x, p.sub(1)))).where(p.ne(0), zero);
    // the limit of 0^p log 0 for p >= 0
    if (ctx->needs_input_grad(1)) dp = g.mul(y.mul(x.log()).where(x.ne(0).logical_or(p.lt(0)), zero));
    return {dx, dp};
  }
};

}  // namespace

Tensor power(const Tensor& base, const Tensor& exponent) {
  if (autograd::is_plain(base)) return base.pow(exponent);
  return recorded(base) || recorded(exponent) ? Power::apply(base, exponent) : power_pieces(base, exponent);
}

}  // namespace bora::core
