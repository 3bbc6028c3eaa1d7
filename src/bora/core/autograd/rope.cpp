// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/rope.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

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

// One or two arrays; on a device by one kernel.
std::vector<Tensor> rotate(const std::vector<Tensor>& all, const Tensor& cos, const Tensor& sin,
                           RopePairs pairs, bool inverse) {
  std::vector<Tensor> inputs, out;
  std::vector<kernels::Turned> list;
  for (const Tensor& x : all) {
    auto input = x.scalar_type() == at::kBFloat16 ? x : cast(x, at::kFloat);
    if (input.stride(3) != 1) input = input.contiguous();
    out.push_back(new_beside(input, x.sizes()));
    const auto shape = rope_shape(input, cos.size(1), out.back(), pairs);
    if (x.is_cpu())
      kernels::rope(shape, values(input), data(cos), data(sin), results(out.back()), inverse);
    else
      list.push_back({shape, input.const_data_ptr(), out.back().mutable_data_ptr()});
    inputs.push_back(std::move(input));
  }
  if (!list.empty()) {
    recorded_kernels(all[0]).rope(std::ssize(list), list.data(), kernel_type(inputs[0]), data(cos), data(sin),
                                  inverse, stream_of(all[0]));
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = cast(out[i], all[i].scalar_type());
  return out;
}

void keep_angles(AutogradContext* ctx, const Tensor& cos, const Tensor& sin, RopePairs pairs) {
  ctx->saved_data["cos"] = cos;
  ctx->saved_data["sin"] = sin;
  ctx->saved_data["neighbours"] = pairs == RopePairs::neighbours;
}
variable_list rotated_back(AutogradContext* ctx, const variable_list& grads) {
  const auto pairs = ctx->saved_data["neighbours"].toBool() ? RopePairs::neighbours : RopePairs::halves;
  auto out = rotate(grads, ctx->saved_data["cos"].toTensor(), ctx->saved_data["sin"].toTensor(), pairs, true);
  out.resize(grads.size() + 3);
  return out;
}

struct Rope : torch::autograd::Function<Rope> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& cos, const Tensor& sin,
                        RopePairs pairs) {
    keep_angles(ctx, cos, sin, pairs);
    return rotate({x}, cos, sin, pairs, false)[0];
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return rotated_back(ctx, grads);
  }
};

struct RopeOfBoth : torch::autograd::Function<RopeOfBoth> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, const Tensor& y, const Tensor& cos,
                               const Tensor& sin, RopePairs pairs) {
    keep_angles(ctx, cos, sin, pairs);
    return rotate({x, y}, cos, sin, pairs, false);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    return rotated_back(ctx, grads);
  }
};

}  // namespace

bool turns_on_a_device(const Tensor& x) {
  return !x.is_cpu() && goes_to_kernel(x, [](const DeviceKernels& k) { return k.rope; });
}

std::pair<Tensor, Tensor> rope_of_both(const Tensor& x, const Tensor& y, const Tensor& cos, const Tensor& sin,
                                       RopePairs pairs) {
  const auto both = RopeOfBoth::apply(x, y, wide(cos), wide(sin), pairs);
  return {both[0], both[1]};
}

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairs pairs) {
  const bool kernel = goes_to_kernel(x, [](const DeviceKernels& k) { return k.rope; });
  return kernel ? Rope::apply(x, wide(cos), wide(sin), pairs) : plain::rope(x, cos, sin, pairs);
}

}  // namespace bora::core::autograd
