// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/rope.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
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

enum class Into { new_arrays, themselves };

// One or two arrays; on a device by one kernel, of which a thread reads all that it writes before.
std::vector<Tensor> rotate(const std::vector<Tensor>& all, const Tensor& cos, const Tensor& sin,
                           RopePairs pairs, bool inverse, Into into = Into::new_arrays) {
  std::vector<Tensor> inputs, out;
  std::vector<kernels::Turned> list;
  for (const Tensor& x : all) {
    auto input = x.scalar_type() == at::kBFloat16 ? x : cast(x, at::kFloat);
    if (input.stride(3) != 1) input = input.contiguous();
    out.push_back(into == Into::themselves ? input : new_beside(input, x.sizes()));
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
variable_list rotated_back(AutogradContext* ctx, const variable_list& grads, Into into = Into::new_arrays) {
  const auto pairs = ctx->saved_data["neighbours"].toBool() ? RopePairs::neighbours : RopePairs::halves;
  auto out =
      rotate(grads, ctx->saved_data["cos"].toTensor(), ctx->saved_data["sin"].toTensor(), pairs, true, into);
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

// Whether a kernel reads and writes it where it lies, among others in its rows.
bool is_piece_of_rows(const Tensor& x) {
  return (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kFloat) && x.stride(3) == 1 &&
         !x.is_contiguous();
}
bool are_pieces_of_rows(const variable_list& all) { return std::ranges::all_of(all, is_piece_of_rows); }

// Of queries and keys, on a device. Where they are pieces of one product, attention writes their gradients as pieces of
// one array, in which they are turned back: the product's backward pass takes it as it is. Nobody else has these arrays:
// attention has made them.
struct RopeOfBoth : torch::autograd::Function<RopeOfBoth> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, const Tensor& y, const Tensor& cos,
                               const Tensor& sin, RopePairs pairs) {
    keep_angles(ctx, cos, sin, pairs);
    ctx->saved_data["pieces"] = are_pieces_of_rows({x, y});
    return rotate({x, y}, cos, sin, pairs, false);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const bool stay = ctx->saved_data["pieces"].toBool() && are_pieces_of_rows(grads);
    return rotated_back(ctx, grads, stay ? Into::themselves : Into::new_arrays);
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
