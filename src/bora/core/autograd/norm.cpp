// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <ATen/core/Tensor.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/layer_norm_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/kernels/cpu/norm.h"
#include "bora/core/kernels/cpu/rope.h"
#include "bora/core/torch/fused_autograd.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

Tensor wide(const Tensor& x) { return cast(x, at::kFloat).contiguous(); }
const float* data(const Tensor& x) { return x.defined() ? x.const_data_ptr<float>() : nullptr; }
float* mutable_data(const Tensor& x) { return x.defined() ? x.mutable_data_ptr<float>() : nullptr; }
Tensor wide(const Maybe& x) { return x ? wide(*x) : Tensor(); }
Tensor new_floats(c10::IntArrayRef sizes) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kFloat, {}, {}, {}, {});
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& weight, double eps) {
    auto rows = x.size(0), n = x.size(1);
    auto input = wide(x), w = wide(weight);
    auto y = new_floats(x.sizes()), rstd = new_floats({rows});
    kernels::rms_norm_forward(rows, n, data(input), data(w), static_cast<float>(eps), mutable_data(y),
                              mutable_data(rstd));
    ctx->save_for_backward({x, weight.value_or(Tensor()), rstd});
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto input = wide(saved[0]), w = saved[1].defined() ? wide(saved[1]) : Tensor(), dy = wide(grads[0]);
    auto rows = input.size(0), n = input.size(1);
    auto dx = new_floats(input.sizes()), dw = w.defined() ? new_floats({n}) : Tensor();
    kernels::rms_norm_backward(rows, n, data(input), data(w), data(saved[2]), data(dy), mutable_data(dx),
                               mutable_data(dw));
    return {cast(dx, saved[0].scalar_type()), w.defined() ? cast(dw, saved[1].scalar_type()) : Tensor(),
            Tensor()};
  }
};

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& weight, const Maybe& bias,
                        double eps) {
    auto rows = x.size(0), n = x.size(1);
    auto input = wide(x), w = wide(weight), b = wide(bias);
    auto y = new_floats(x.sizes()), mean = new_floats({rows}), rstd = new_floats({rows});
    kernels::layer_norm_forward(rows, n, data(input), data(w), data(b), static_cast<float>(eps),
                                mutable_data(y), mutable_data(mean), mutable_data(rstd));
    ctx->save_for_backward({x, weight.value_or(Tensor()), mean, rstd});
    ctx->saved_data["bias"] = bias.has_value();
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto input = wide(saved[0]), w = saved[1].defined() ? wide(saved[1]) : Tensor(), dy = wide(grads[0]);
    auto rows = input.size(0), n = input.size(1);
    auto dtype = saved[0].scalar_type();
    auto dx = new_floats(input.sizes()), dw = w.defined() ? new_floats({n}) : Tensor();
    auto db = ctx->saved_data["bias"].toBool() ? new_floats({n}) : Tensor();
    kernels::layer_norm_backward(rows, n, data(input), data(w), data(saved[2]), data(saved[3]), data(dy),
                                 mutable_data(dx), mutable_data(dw), mutable_data(db));
    return {cast(dx, dtype), dw.defined() ? cast(dw, dtype) : Tensor(),
            db.defined() ? cast(db, dtype) : Tensor(), Tensor()};
  }
};

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, std::int64_t f) {
    auto input = wide(x);
    auto y = new_floats(x.sizes());
    kernels::activate(static_cast<kernels::Activation>(f), y.numel(), data(input), mutable_data(y));
    ctx->save_for_backward({x});
    ctx->saved_data["f"] = f;
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto x = ctx->get_saved_variables()[0];
    auto input = wide(x), dy = wide(grads[0]);
    auto dx = new_floats(input.sizes());
    kernels::activate_backward(static_cast<kernels::Activation>(ctx->saved_data["f"].toInt()), dx.numel(),
                               data(input), data(dy), mutable_data(dx));
    return {cast(dx, x.scalar_type()), Tensor()};
  }
};

struct Gated : torch::autograd::Function<Gated> {
  static Tensor forward(AutogradContext* ctx, const Tensor& gate, const Tensor& up, std::int64_t f) {
    auto g = wide(gate), u = wide(up);
    auto y = new_floats(gate.sizes());
    kernels::gated(static_cast<kernels::Activation>(f), y.numel(), data(g), data(u), mutable_data(y));
    ctx->save_for_backward({gate, up});
    ctx->saved_data["f"] = f;
    return cast(y, gate.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto g = wide(saved[0]), u = wide(saved[1]), dy = wide(grads[0]);
    auto dg = new_floats(g.sizes()), du = new_floats(g.sizes());
    kernels::gated_backward(static_cast<kernels::Activation>(ctx->saved_data["f"].toInt()), g.numel(),
                            data(g), data(u), data(dy), mutable_data(dg), mutable_data(du));
    auto dtype = saved[0].scalar_type();
    return {cast(dg, dtype), cast(du, dtype), Tensor()};
  }
};

kernels::RopeShape rope_shape(const Tensor& x, std::int64_t half, const Tensor& y) {
  return {.batch = x.size(0),
          .positions = x.size(1),
          .heads = x.size(2),
          .dim = x.size(3),
          .half = half,
          .x_batch = x.stride(0),
          .x_position = x.stride(1),
          .x_head = x.stride(2),
          .y_batch = y.stride(0),
          .y_position = y.stride(1),
          .y_head = y.stride(2)};
}

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, bool inverse) {
  auto input = cast(x, at::kFloat);
  if (input.stride(3) != 1) input = input.contiguous();
  auto y = new_floats(x.sizes());
  kernels::rope(rope_shape(input, cos.size(1), y), data(input), data(cos), data(sin), mutable_data(y),
                inverse);
  return cast(y, x.scalar_type());
}

struct Rope : torch::autograd::Function<Rope> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& cos, const Tensor& sin) {
    ctx->saved_data["cos"] = cos;
    ctx->saved_data["sin"] = sin;
    return rotate(x, cos, sin, false);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return {rotate(grads[0], ctx->saved_data["cos"].toTensor(), ctx->saved_data["sin"].toTensor(), true),
            Tensor(), Tensor()};
  }
};

// Plain ops for other devices and dtypes; differentiable as they are.
Tensor scaled(const Tensor& y, const Maybe& weight) {
  return weight ? at::_ops::mul_Tensor::call(y, *weight) : y;
}

Tensor plain_rms_norm(const Tensor& x, const Maybe& weight, double eps) {
  auto square = at::_ops::mul_Tensor::call(x, x);
  auto mean = at::_ops::mean_dim::call(square, at::IntArrayRef({-1}), true, std::nullopt);
  return scaled(
      at::_ops::mul_Tensor::call(x, at::_ops::rsqrt::call(at::_ops::add_Scalar::call(mean, eps, 1))), weight);
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Maybe& weight, double eps) {
  return has_kernel(x) ? RmsNorm::apply(x, weight, eps) : plain_rms_norm(x, weight, eps);
}

Tensor layer_norm(const Tensor& x, const Maybe& weight, const Maybe& bias, double eps) {
  if (has_kernel(x)) return LayerNorm::apply(x, weight, bias, eps);
  auto n = c10::SymInt(x.size(1));
  return at::_ops::layer_norm::call(x, c10::SymIntArrayRef(&n, 1), weight, bias, eps, true);
}

Tensor activate(kernels::Activation f, const Tensor& x) {
  return Activate::apply(x, static_cast<std::int64_t>(f));
}

Tensor gated(kernels::Activation f, const Tensor& gate, const Tensor& up) {
  return Gated::apply(gate, up, static_cast<std::int64_t>(f));
}

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return Rope::apply(x, wide(cos), wide(sin));
}

}  // namespace bora::core::autograd
