// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/rope.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/kernels/cpu/rope.h"
#include "bora/core/plain/rope.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::RopeShape rope_shape(const Tensor& x, std::int64_t half, const Tensor& y, RopePairs pairs) {
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
          .y_head = y.stride(2),
          .neighbours = pairs == RopePairs::neighbours};
}

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairs pairs, bool inverse) {
  auto input = x.scalar_type() == at::kBFloat16 ? x : cast(x, at::kFloat);
  if (input.stride(3) != 1) input = input.contiguous();
  auto y = new_beside(input, x.sizes());
  const auto shape = rope_shape(input, cos.size(1), y, pairs);
  if (x.is_cpu()) {
    kernels::rope(shape, values(input), data(cos), data(sin), results(y), inverse);
  } else {
    recorded_kernels(x).rope(shape, kernel_type(input), input.const_data_ptr(), data(cos), data(sin),
                             y.mutable_data_ptr(), inverse, stream_of(x));
  }
  return cast(y, x.scalar_type());
}

struct Rope : torch::autograd::Function<Rope> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& cos, const Tensor& sin,
                        RopePairs pairs) {
    ctx->saved_data["cos"] = cos;
    ctx->saved_data["sin"] = sin;
    ctx->saved_data["neighbours"] = pairs == RopePairs::neighbours;
    return rotate(x, cos, sin, pairs, false);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto pairs = ctx->saved_data["neighbours"].toBool() ? RopePairs::neighbours : RopePairs::halves;
    return {
        rotate(grads[0], ctx->saved_data["cos"].toTensor(), ctx->saved_data["sin"].toTensor(), pairs, true),
        Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairs pairs) {
  const bool kernel = goes_to_kernel(x, [](const DeviceKernels& k) { return k.rope; });
  return kernel ? Rope::apply(x, wide(cos), wide(sin), pairs) : plain::rope(x, cos, sin, pairs);
}

}  // namespace bora::core::autograd
