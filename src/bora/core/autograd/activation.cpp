// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/activation.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/kernels/cpu/activation.h"
#include "bora/core/plain/activation.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, std::int64_t f) {
    auto input = kernel_operand(x), y = new_beside(input, x.sizes());
    const auto function = static_cast<Activation>(f);
    if (x.is_cpu()) {
      kernels::activate(function, y.numel(), values(input), results(y));
    } else {
      recorded_kernels(x).activate.forward(function, kernel_type(input), y.numel(), input.const_data_ptr(),
                                           y.mutable_data_ptr(), stream_of(x));
    }
    ctx->save_for_backward({x});
    ctx->saved_data["f"] = f;
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto x = ctx->get_saved_variables()[0];
    auto input = kernel_operand(x), dy = kernel_operand(grads[0]), dx = new_beside(input, input.sizes());
    const auto f = static_cast<Activation>(ctx->saved_data["f"].toInt());
    if (x.is_cpu()) {
      kernels::activate_backward(f, dx.numel(), values(input), values(dy), results(dx));
    } else {
      recorded_kernels(x).activate.backward(f, kernel_type(input), dx.numel(), input.const_data_ptr(),
                                            dy.const_data_ptr(), dx.mutable_data_ptr(), stream_of(x));
    }
    return {cast(dx, x.scalar_type()), Tensor()};
  }
};

struct Gated : torch::autograd::Function<Gated> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up, std::int64_t f) {
    auto g = kernel_operand(gate), u = kernel_operand(up), y = new_beside(g, gate.sizes());
    const auto function = static_cast<Activation>(f);
    if (gate.is_cpu()) {
      kernels::gated(function, y.numel(), values(g), values(u), results(y));
    } else {
      recorded_kernels(gate).gated.forward(function, kernel_type(g), y.numel(), g.const_data_ptr(),
                                           u.const_data_ptr(), y.mutable_data_ptr(), stream_of(gate));
    }
    ctx->save_for_backward({gate, up});
    ctx->saved_data["f"] = f;
    return cast(y, gate.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto g = kernel_operand(saved[0]), u = kernel_operand(saved[1]), dy = kernel_operand(grads[0]);
    auto dg = new_beside(g, g.sizes()), du = new_beside(g, g.sizes());
    const auto f = static_cast<Activation>(ctx->saved_data["f"].toInt());
    if (g.is_cpu()) {
      kernels::gated_backward(f, g.numel(), values(g), values(u), values(dy), results(dg), results(du));
    } else {
      recorded_kernels(g).gated.backward(f, kernel_type(g), g.numel(), g.const_data_ptr(), u.const_data_ptr(),
                                         dy.const_data_ptr(), dg.mutable_data_ptr(), du.mutable_data_ptr(),
                                         stream_of(g));
    }
    auto dtype = saved[0].scalar_type();
    return {cast(dg, dtype), cast(du, dtype), Tensor()};
  }
};

}  // namespace

Tensor activate(Activation f, const Tensor& x) {
  const bool kernel = goes_to_kernel(x, [](const DeviceKernels& k) { return k.activate.forward; });
  return kernel ? Activate::apply(x, static_cast<std::int64_t>(f)) : plain::activate(f, x);
}

Tensor gated(Activation f, const Tensor& gate, const Tensor& up) {
  const bool alike = gate.is_cpu() || gate.scalar_type() == up.scalar_type();
  const bool kernel = alike && goes_to_kernel(gate, [](const DeviceKernels& k) { return k.gated.forward; });
  return kernel ? Gated::apply(gate, up, static_cast<std::int64_t>(f)) : plain::gated(f, gate, up);
}

}  // namespace bora::core::autograd
