// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/norm.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/largest.h"
#include "bora/core/kernels/cpu/norm.h"
#include "bora/core/plain/norm.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

// Of the CPU, or of x's device.
void rms_forward(const Tensor& x, const Tensor& w, float eps, const Tensor& y, const Tensor& rstd) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu())
    return kernels::rms_norm_forward(rows, n, values(x), data(w), eps, results(y), mutable_data(rstd));
  recorded_kernels(x).rms_norm.forward(kernel_type(x), rows, n, x.const_data_ptr(), nullptr, data(w), eps,
                                       nullptr, y.mutable_data_ptr(), mutable_data(rstd), largest_beside(y),
                                       stream_of(x));
}

void rms_backward(const Tensor& x, const Tensor& w, const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                  const Tensor& dw) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu()) {
    return kernels::rms_norm_backward(rows, n, values(x), data(w), data(rstd), values(dy), results(dx),
                                      mutable_data(dw));
  }
  const Tensor room = norm_room(x, dw, {});
  recorded_kernels(x).rms_norm.backward(kernel_type(x), rows, n, x.const_data_ptr(), data(w), data(rstd),
                                        dy.const_data_ptr(), nullptr, dx.mutable_data_ptr(), mutable_data(dw),
                                        mutable_data(room), largest_beside(dx), stream_of(x));
}

void layer_forward(const Tensor& x, const Tensor& w, const Tensor& b, float eps, const Tensor& y,
                   const Tensor& mean, const Tensor& rstd) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu()) {
    return kernels::layer_norm_forward(rows, n, values(x), data(w), data(b), eps, results(y),
                                       mutable_data(mean), mutable_data(rstd));
  }
  recorded_kernels(x).layer_norm.forward(kernel_type(x), rows, n, x.const_data_ptr(), nullptr, data(w),
                                         data(b), eps, nullptr, y.mutable_data_ptr(), mutable_data(mean),
                                         mutable_data(rstd), largest_beside(y), stream_of(x));
}

void layer_backward(const Tensor& x, const Tensor& w, const Tensor& mean, const Tensor& rstd,
                    const Tensor& dy, const Tensor& dx, const Tensor& dw, const Tensor& db) {
  const auto rows = x.size(0), n = x.size(1);
  if (x.is_cpu()) {
    return kernels::layer_norm_backward(rows, n, values(x), data(w), data(mean), data(rstd), values(dy),
                                        results(dx), mutable_data(dw), mutable_data(db));
  }
  const Tensor room = norm_room(x, dw, db);
  recorded_kernels(x).layer_norm.backward(kernel_type(x), rows, n, x.const_data_ptr(), data(w), data(mean),
                                          data(rstd), dy.const_data_ptr(), nullptr, dx.mutable_data_ptr(),
                                          mutable_data(dw), mutable_data(db), mutable_data(room),
                                          largest_beside(dx), stream_of(x));
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& weight, double eps) {
    auto input = kernel_operand(x), w = wide(weight);
    auto y = new_beside(input, x.sizes()), rstd = new_floats_beside(input, {x.size(0)});
    rms_forward(input, w, static_cast<float>(eps), y, rstd);
    ctx->save_for_backward({x, weight.value_or(Tensor()), rstd});
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto input = kernel_operand(saved[0]), w = saved[1].defined() ? wide(saved[1]) : Tensor(),
         dy = kernel_operand(grads[0]);
    auto dx = new_beside(input, input.sizes()),
         dw = w.defined() ? new_floats_beside(input, {input.size(1)}) : Tensor();
    rms_backward(input, w, saved[2], dy, dx, dw);
    return {cast(dx, saved[0].scalar_type()), w.defined() ? cast(dw, saved[1].scalar_type()) : Tensor(),
            Tensor()};
  }
};

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Maybe& weight, const Maybe& bias,
                        double eps) {
    auto input = kernel_operand(x), w = wide(weight), b = wide(bias);
    auto y = new_beside(input, x.sizes()), mean = new_floats_beside(input, {x.size(0)}),
         rstd = new_floats_beside(input, {x.size(0)});
    layer_forward(input, w, b, static_cast<float>(eps), y, mean, rstd);
    ctx->save_for_backward({x, weight.value_or(Tensor()), mean, rstd});
    ctx->saved_data["bias"] = bias.has_value();
    if (bias) ctx->saved_data["bias_type"] = static_cast<std::int64_t>(bias->scalar_type());
    return cast(y, x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto saved = ctx->get_saved_variables();
    auto input = kernel_operand(saved[0]), w = saved[1].defined() ? wide(saved[1]) : Tensor(),
         dy = kernel_operand(grads[0]);
    auto n = input.size(1);
    auto dtype = saved[0].scalar_type();
    auto dx = new_beside(input, input.sizes()), dw = w.defined() ? new_floats_beside(input, {n}) : Tensor();
    auto db = ctx->saved_data["bias"].toBool() ? new_floats_beside(input, {n}) : Tensor();
    layer_backward(input, w, saved[2], saved[3], dy, dx, dw, db);
    const auto bias_type = [&] { return static_cast<at::ScalarType>(ctx->saved_data["bias_type"].toInt()); };
    return {cast(dx, dtype), dw.defined() ? cast(dw, saved[1].scalar_type()) : Tensor(),
            db.defined() ? cast(db, bias_type()) : Tensor(), Tensor()};
  }
};

}  // namespace

Tensor norm_room(const Tensor& x, const Tensor& dw, const Tensor& db) {
  const auto size = recorded_kernels(x).norm_room;
  if (size == nullptr || !(dw.defined() || db.defined())) return {};
  return new_floats_beside(x, {size(x.size(0), x.size(1))});
}

// A second derivative comes from plain ops alone.
Tensor rms_norm(const Tensor& x, const Maybe& weight, double eps) {
  const bool kernel = goes_to_kernel(x, [](const DeviceKernels& k) { return k.rms_norm.forward; });
  return kernel ? RmsNorm::apply(x, weight, eps) : plain::rms_norm(x, weight, eps);
}

Tensor layer_norm(const Tensor& x, const Maybe& weight, const Maybe& bias, double eps) {
  const bool kernel = goes_to_kernel(x, [](const DeviceKernels& k) { return k.layer_norm.forward; });
  return kernel ? LayerNorm::apply(x, weight, bias, eps) : plain::layer_norm(x, weight, bias, eps);
}

}  // namespace bora::core::autograd
