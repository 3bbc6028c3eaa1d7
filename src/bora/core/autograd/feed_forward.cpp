// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/feed_forward.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <vector>

#include "bora/core/autograd/device_matmul.h"
#include "bora/core/autograd/joint_pieces.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/fp8.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

const void* address(const Maybe& x) { return x ? x->const_data_ptr() : nullptr; }

// What the library's kernel works in.
Tensor room_of(const DeviceKernels::ActivatedProduct& entry, const Tensor& like) {
  return at::_ops::empty_memory_format::call({entry.room}, at::kByte, {}, like.device(), {}, {});
}

struct Activated {
  Tensor z, y;
};
// z = up(x), y = f(z): by one product, or by two operations where there is none of these sizes.
Activated activated(Activation f, const Tensor& x, const Tensor& weight, const Maybe& bias) {
  const auto& kernels = recorded_kernels(x);
  const auto rows = x.size(0), n = weight.size(0);
  Activated out{new_beside(x, {rows, n}), new_beside(x, {rows, n})};
  const Tensor room = room_of(kernels.activated_product, x);
  if (kernels.activated_product.forward(f, kernel_type(x), rows, n, x.size(1), x.const_data_ptr(),
                                        weight.const_data_ptr(), address(bias), out.z.mutable_data_ptr(),
                                        out.y.mutable_data_ptr(), room.mutable_data_ptr(), stream_of(x)))
    return out;
  out.z = device_product(x, weight.t(), bias);
  kernels.activate.forward(f, kernel_type(x), out.y.numel(), out.z.const_data_ptr(), out.y.mutable_data_ptr(),
                           nullptr, stream_of(x));
  return out;
}

// dz = (g · weight) · f'(z), likewise.
Tensor gradient_before(Activation f, const Tensor& g, const Tensor& weight, const Tensor& z) {
  const auto& kernels = recorded_kernels(z);
  Tensor dz = new_beside(z, z.sizes());
  const Tensor room = room_of(kernels.activated_product, z);
  if (kernels.activated_product.backward(f, kernel_type(z), z.size(0), z.size(1), g.size(1),
                                         g.const_data_ptr(), weight.const_data_ptr(), z.const_data_ptr(),
                                         dz.mutable_data_ptr(), room.mutable_data_ptr(), stream_of(z)))
    return dz;
  const Tensor dy = device_product(g, weight);
  kernels.activate.backward(f, kernel_type(z), dz.numel(), z.const_data_ptr(), dy.const_data_ptr(),
                            dz.mutable_data_ptr(), nullptr, stream_of(z));
  return dz;
}

// Inputs as they are differentiated; behind them stand those that are computed with.
enum Input : std::size_t { kX, kUp, kDown, kUpBias, kDownBias, kInputs = 10 };

// What is asked for. libtorch counts the inputs that are there, and a map may have no bias.
struct Wanted {
  std::array<bool, kDownBias + 1> of{};
  Wanted(AutogradContext& ctx, const std::vector<std::int64_t>& types) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (static_cast<at::ScalarType>(types[i]) != at::ScalarType::Undefined)
        of[i] = ctx.needs_input_grad(at++);
    }
  }
  bool before_the_activation() const { return of[kX] || of[kUp] || of[kUpBias]; }
};

struct FeedForward : torch::autograd::Function<FeedForward> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& up, const Tensor& down,
                        const Maybe& up_bias, const Maybe& down_bias, const Tensor& up_values,
                        const Tensor& down_values, const Maybe& up_bias_values, const Maybe& down_bias_values,
                        std::int64_t f) {
    const auto [z, y] = activated(static_cast<Activation>(f), x, up_values, up_bias_values);
    ctx->save_for_backward({x, z, y, up_values, down_values});
    ctx->saved_data["f"] = f;
    std::vector<std::int64_t> types;
    for (const auto& p : {Maybe(x), Maybe(up), Maybe(down), up_bias, down_bias})
      types.push_back(static_cast<std::int64_t>(p ? p->scalar_type() : at::ScalarType::Undefined));
    ctx->saved_data["types"] = types;
    return device_product(y, down_values.t(), down_bias_values);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &z = saved[1], &y = saved[2], &up = saved[3], &down = saved[4];
    const auto f = static_cast<Activation>(ctx->saved_data["f"].toInt());
    const auto types = ctx->saved_data["types"].toIntVector();
    const auto type_of = [&](Input i) { return static_cast<at::ScalarType>(types[i]); };
    const Wanted wanted(*ctx, types);
    const Tensor g = grads[0].contiguous();
    variable_list out(kInputs);
    if (wanted.of[kDown]) out[kDown] = device_product_as(type_of(kDown), g.t(), y);
    if (wanted.of[kDownBias]) out[kDownBias] = over_rows(type_of(kDownBias), g);
    if (!wanted.before_the_activation()) return out;
    const Tensor dz = gradient_before(f, g, down, z);
    if (wanted.of[kUp]) out[kUp] = device_product_as(type_of(kUp), dz.t(), x);
    if (wanted.of[kUpBias]) out[kUpBias] = over_rows(type_of(kUpBias), dz);
    if (wanted.of[kX]) out[kX] = device_product(dz, up);
    return out;
  }
};

Maybe detached(const std::optional<Factor>& x) { return x ? Maybe(x->values.detach()) : std::nullopt; }
Maybe differentiated_of(const std::optional<Factor>& x) {
  return x ? Maybe(differentiated(*x)) : std::nullopt;
}

}  // namespace

bool has_activated_products(const Tensor& x, Activation f) {
  if (!on_a_device(x) || in_fp8()) return false;
  const auto& kernels = device_kernels(x);
  const auto& entry = kernels.activated_product;
  return entry.takes != nullptr && kernels.activate.forward != nullptr &&
         entry.takes(f, from_scalar_type(x.scalar_type()));
}

Tensor feed_forward(const Tensor& x, const FlatMap& up, Activation f, const FlatMap& down) {
  return FeedForward::apply(x.contiguous(), differentiated(up.weight), differentiated(down.weight),
                            differentiated_of(up.bias), differentiated_of(down.bias),
                            up.weight.values.detach().contiguous(), down.weight.values.detach().contiguous(),
                            detached(up.bias), detached(down.bias), static_cast<std::int64_t>(f));
}

}  // namespace bora::core::autograd
