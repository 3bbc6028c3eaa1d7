// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/norm.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/norm.h"
#include "bora/core/plain/norm.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

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

}  // namespace

Tensor rms_norm(const Tensor& x, const Maybe& weight, double eps) {
  return has_kernel(x) ? RmsNorm::apply(x, weight, eps) : plain::rms_norm(x, weight, eps);
}

Tensor layer_norm(const Tensor& x, const Maybe& weight, const Maybe& bias, double eps) {
  return has_kernel(x) ? LayerNorm::apply(x, weight, bias, eps) : plain::layer_norm(x, weight, bias, eps);
}

}  // namespace bora::core::autograd
