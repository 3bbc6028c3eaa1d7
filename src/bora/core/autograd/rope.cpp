// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/rope.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/floats.h"
#include "bora/core/kernels/cpu/rope.h"
#include "bora/core/plain/rope.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

}  // namespace

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return has_kernel(x) ? Rope::apply(x, wide(cos), wide(sin)) : plain::rope(x, cos, sin);
}

}  // namespace bora::core::autograd
