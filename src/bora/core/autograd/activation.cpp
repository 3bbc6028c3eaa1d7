// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/activation.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/plain/activation.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, std::int64_t f) {
    auto input = wide(x);
    auto y = new_floats(x.sizes());
    kernels::activate(static_cast<Activation>(f), y.numel(), data(input), mutable_data(y));
    ctx->save_for_backward({x});
    ctx->saved_data["f"] = f;
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto x = ctx->get_saved_variables()[0];
    auto input = wide(x), dy = wide(grads[0]);
    auto dx = new_floats(input.sizes());
    kernels::activate_backward(static_cast<Activation>(ctx->saved_data["f"].toInt()), dx.numel(), data(input),
                               data(dy), mutable_data(dx));
    return {cast(dx, x.scalar_type()), Tensor()};
  }
};

struct Gated : torch::autograd::Function<Gated> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up, std::int64_t f) {
    auto g = wide(gate), u = wide(up);
    auto y = new_floats(gate.sizes());
    kernels::gated(static_cast<Activation>(f), y.numel(), data(g), data(u), mutable_data(y));
    ctx->save_for_backward({gate, up});
    ctx->saved_data["f"] = f;
    return cast(y, gate.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto g = wide(saved[0]), u = wide(saved[1]), dy = wide(grads[0]);
    auto dg = new_floats(g.sizes()), du = new_floats(g.sizes());
    kernels::gated_backward(static_cast<Activation>(ctx->saved_data["f"].toInt()), g.numel(), data(g),
                            data(u), data(dy), mutable_data(dg), mutable_data(du));
    auto dtype = saved[0].scalar_type();
    return {cast(dg, dtype), cast(du, dtype), Tensor()};
  }
};

}  // namespace

Tensor activate(Activation f, const Tensor& x) {
  return has_kernel(x) ? Activate::apply(x, static_cast<std::int64_t>(f)) : plain::activate(f, x);
}

Tensor gated(Activation f, const Tensor& gate, const Tensor& up) {
  if (!has_kernel(gate)) return plain::gated(f, gate, up);
  return Gated::apply(gate, up, static_cast<std::int64_t>(f));
}

}  // namespace bora::core::autograd
