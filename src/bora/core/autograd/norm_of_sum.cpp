// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/norm_of_sum.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/largest.h"
#include "bora/core/autograd/norm.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

const void* address(const Tensor& x) { return x.defined() ? x.const_data_ptr() : nullptr; }

struct SumThenNorm : torch::autograd::Function<SumThenNorm> {
  static variable_list forward(AutogradContext* ctx, const Tensor& left, const Tensor& right,
                               const Maybe& weight, const Maybe& bias, bool centred, double eps) {
    const Tensor w = wide(weight), b = wide(bias);
    const Tensor sum = new_beside(left, left.sizes()), y = new_beside(left, left.sizes()),
                 rstd = new_floats_beside(left, {left.size(0)}),
                 mean = centred ? new_floats_beside(left, {left.size(0)}) : Tensor();
    const auto rows = left.size(0), n = left.size(1);
    const auto& kernels = recorded_kernels(left);
    if (centred) {
      kernels.layer_norm.forward(kernel_type(left), rows, n, address(left), address(right), data(w), data(b),
                                 static_cast<float>(eps), sum.mutable_data_ptr(), y.mutable_data_ptr(),
                                 mutable_data(mean), mutable_data(rstd), largest_beside(y), stream_of(left));
    } else {
      kernels.rms_norm.forward(kernel_type(left), rows, n, address(left), address(right), data(w),
                               static_cast<float>(eps), sum.mutable_data_ptr(), y.mutable_data_ptr(),
                               mutable_data(rstd), largest_beside(y), stream_of(left));
    }
    ctx->save_for_backward({sum, weight.value_or(Tensor()), mean, rstd});
    if (bias) ctx->saved_data["bias_type"] = static_cast<std::int64_t>(bias->scalar_type());
    ctx->set_materialize_grads(false);
    return {sum, y};
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    if (!grads[1].defined()) return {grads[0], grads[0], Tensor(), Tensor(), Tensor(), Tensor()};
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &mean = saved[2], &rstd = saved[3];
    const Tensor w = saved[1].defined() ? wide(saved[1]) : Tensor(), dy = grads[1].contiguous(),
                 dsum = grads[0].defined() ? grads[0].contiguous() : Tensor();
    const auto rows = x.size(0), n = x.size(1);
    const bool has_bias = ctx->saved_data.find("bias_type") != ctx->saved_data.end();
    const Tensor dx = new_beside(x, x.sizes()), dw = w.defined() ? new_floats_beside(x, {n}) : Tensor(),
                 db = has_bias ? new_floats_beside(x, {n}) : Tensor(), room = norm_room(x, dw, db);
    const auto& kernels = recorded_kernels(x);
    if (mean.defined()) {
      kernels.layer_norm.backward(kernel_type(x), rows, n, address(x), data(w), data(mean), data(rstd),
                                  address(dy), address(dsum), dx.mutable_data_ptr(), mutable_data(dw),
                                  mutable_data(db), mutable_data(room), largest_beside(dx), stream_of(x));
    } else {
      kernels.rms_norm.backward(kernel_type(x), rows, n, address(x), data(w), data(rstd), address(dy),
                                address(dsum), dx.mutable_data_ptr(), mutable_data(dw), mutable_data(room),
                                largest_beside(dx), stream_of(x));
    }
    const auto bias_type = [&] { return static_cast<at::ScalarType>(ctx->saved_data["bias_type"].toInt()); };
    return {dx,
            dx,
            dw.defined() ? cast(dw, saved[1].scalar_type()) : Tensor(),
            has_bias ? cast(db, bias_type()) : Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

NormOfSum norm_of_sum(const Tensor& left, const Tensor& right, const Maybe& weight, const Maybe& bias,
                      bool centred, double eps) {
  const auto both = SumThenNorm::apply(left, right, weight, bias, centred, eps);
  return {both[0], both[1]};
}

}  // namespace bora::core::autograd
