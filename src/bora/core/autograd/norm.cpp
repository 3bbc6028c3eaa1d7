// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/norm.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/norm.h"
#include "bora/core/plain/norm.h"
#include "bora/core/torch/device.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

Tensor new_floats(c10::IntArrayRef sizes, const Tensor& like) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kFloat, {}, like.device(),
                                             {}, {});
}

// Of the CPU, or of x's device.
void rms_forward(const Tensor& x, const Tensor& w, float eps, const Tensor& y, const Tensor& rstd) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu())
    kernels::rms_norm_forward(rows, n, data(x), data(w), eps, mutable_data(y), mutable_data(rstd));
  else
    recorded_kernels(x).rms_norm.forward(rows, n, data(x), data(w), eps, mutable_data(y), mutable_data(rstd),
                                         stream_of(x));
}

void rms_backward(const Tensor& x, const Tensor& w, const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                  const Tensor& dw) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu())
    kernels::rms_norm_backward(rows, n, data(x), data(w), data(rstd), data(dy), mutable_data(dx),
                               mutable_data(dw));
  else
    recorded_kernels(x).rms_norm.backward(rows, n, data(x), data(w), data(rstd), data(dy), mutable_data(dx),
                                          mutable_data(dw), stream_of(x));
}

void layer_forward(const Tensor& x, const Tensor& w, const Tensor& b, float eps, const Tensor& y,
                   const Tensor& mean, const Tensor& rstd) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu())
    kernels::layer_norm_forward(rows, n, data(x), data(w), data(b), eps, mutable_data(y), mutable_data(mean),
                                mutable_data(rstd));
  else
    recorded_kernels(x).layer_norm.forward(rows, n, data(x), data(w), data(b), eps, mutable_data(y),
                                           mutable_data(mean), mutable_data(rstd), stream_of(x));
}

void layer_backward(const Tensor& x, const Tensor& w, const Tensor& mean, const Tensor& rstd,
                    const Tensor& dy, const Tensor& dx, const Tensor& dw, const Tensor& db) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu())
    kernels::layer_norm_backward(rows, n, data(x), data(w), data(mean), data(rstd), data(dy),
                                 mutable_data(dx), mutable_data(dw), mutable_data(db));
  else
    recorded_kernels(x).layer_norm.backward(rows, n, data(x), data(w), data(mean), data(rstd), data(dy),
                                            mutable_data(dx), mutable_data(dw), mutable_data(db),
                                            stream_of(x));
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& weight, double eps) {
    auto input = wide(x), w = wide(weight);
    auto y = new_floats(x.sizes(), x), rstd = new_floats({x.size(0)}, x);
    rms_forward(input, w, static_cast<float>(eps), y, rstd);
    ctx->save_for_backward({x, weight.value_or(Tensor()), rstd});
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto input = wide(saved[0]), w = saved[1].defined() ? wide(saved[1]) : Tensor(), dy = wide(grads[0]);
    auto dx = new_floats(input.sizes(), input),
         dw = w.defined() ? new_floats({input.size(1)}, input) : Tensor();
    rms_backward(input, w, saved[2], dy, dx, dw);
    return {cast(dx, saved[0].scalar_type()), w.defined() ? cast(dw, saved[1].scalar_type()) : Tensor(),
            Tensor()};
  }
};

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& weight, const Maybe& bias,
                        double eps) {
    auto input = wide(x), w = wide(weight), b = wide(bias);
    auto y = new_floats(x.sizes(), x), mean = new_floats({x.size(0)}, x), rstd = new_floats({x.size(0)}, x);
    layer_forward(input, w, b, static_cast<float>(eps), y, mean, rstd);
    ctx->save_for_backward({x, weight.value_or(Tensor()), mean, rstd});
    ctx->saved_data["bias"] = bias.has_value();
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto input = wide(saved[0]), w = saved[1].defined() ? wide(saved[1]) : Tensor(), dy = wide(grads[0]);
    auto n = input.size(1);
    auto dtype = saved[0].scalar_type();
    auto dx = new_floats(input.sizes(), input), dw = w.defined() ? new_floats({n}, input) : Tensor();
    auto db = ctx->saved_data["bias"].toBool() ? new_floats({n}, input) : Tensor();
    layer_backward(input, w, saved[2], saved[3], dy, dx, dw, db);
    return {cast(dx, dtype), dw.defined() ? cast(dw, dtype) : Tensor(),
            db.defined() ? cast(db, dtype) : Tensor(), Tensor()};
  }
};

// The types that kernels take, by widening. A second derivative comes from plain ops alone.
bool floats(const Tensor& x) { return x.scalar_type() == at::kFloat || is_low_precision(x); }

}  // namespace

Tensor rms_norm(const Tensor& x, const Maybe& weight, double eps) {
  if (has_kernel(x) || (floats(x) && device_kernels(x).rms_norm.forward != nullptr))
    return RmsNorm::apply(x, weight, eps);
  return plain::rms_norm(x, weight, eps);
}

Tensor layer_norm(const Tensor& x, const Maybe& weight, const Maybe& bias, double eps) {
  if (has_kernel(x) || (floats(x) && device_kernels(x).layer_norm.forward != nullptr))
    return LayerNorm::apply(x, weight, bias, eps);
  return plain::layer_norm(x, weight, bias, eps);
}

}  // namespace bora::core::autograd
