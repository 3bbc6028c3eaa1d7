// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/device_matmul.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/mm_ops.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/fp8_matmul.h"
#include "bora/core/autograd/joint_pieces.h"
#include "bora/core/autograd/side_by_side.h"

namespace bora::core::autograd {
using at::Tensor;

Tensor device_product(const Tensor& a, const Tensor& b, const std::optional<Tensor>& bias) {
  if (a.dim() == 2) return bias ? at::_ops::addmm::call(*bias, a, b, 1, 1) : at::_ops::mm::call(a, b);
  const Tensor c = at::_ops::bmm::call(a, b);
  return bias ? c.add(*bias) : c;
}

Tensor device_product_as(at::ScalarType type, const Tensor& a, const Tensor& b) {
  if (type == a.scalar_type()) return device_product(a, b);
  return a.dim() == 2 ? at::_ops::mm_dtype::call(a, b, type) : at::_ops::bmm_dtype::call(a, b, type);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

// The gradient left · right of an operand, as the operand lies.
Tensor gradient_as(at::ScalarType type, const Tensor& operand, const Tensor& left, const Tensor& right) {
  if (!lies_by_columns(operand)) return device_product_as(type, left, right);
  return device_product_as(type, right.transpose(-1, -2), left.transpose(-1, -2)).transpose(-1, -2);
}

// b and bias are what is differentiated, the others of what is computed.
struct DeviceMatmul : torch::autograd::Function<DeviceMatmul> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b, const Maybe& bias,
                        const Tensor& b_values, const Maybe& bias_values) {
    ctx->save_for_backward({a, b_values});
    ctx->saved_data["type"] = static_cast<std::int64_t>(b.scalar_type());
    if (bias) ctx->saved_data["bias_type"] = static_cast<std::int64_t>(bias->scalar_type());
    return device_product(a, b_values, bias_values);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &a = saved[0], &b = saved[1], &g = grads[0];
    const auto type_of = [&](const char* what) {
      return static_cast<at::ScalarType>(ctx->saved_data[what].toInt());
    };
    Tensor da, db, dbias;
    if (ctx->needs_input_grad(1)) db = gradient_as(type_of("type"), b, a.transpose(-1, -2), g);
    if (ctx->needs_input_grad(0)) da = gradient_as(a.scalar_type(), a, g, b.transpose(-1, -2));
    const bool has_bias = ctx->saved_data.find("bias_type") != ctx->saved_data.end();
    if (has_bias && ctx->needs_input_grad(2)) dbias = over_rows(type_of("bias_type"), g);
    return {da, db, dbias, Tensor(), Tensor()};
  }
};

// JointPieces; `weight` and `bias` are all values together.
struct JointMatmul : torch::autograd::Function<JointMatmul> {
  static variable_list forward(AutogradContext* ctx, const Tensor& a, at::TensorList differentiated,
                               std::int64_t count, const Tensor& weight, const Maybe& bias) {
    ctx->save_for_backward({a, weight});
    const JointPieces maps(differentiated, count);
    maps.save(*ctx);
    return maps.results(device_product(a, weight.t(), bias));
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &a = saved[0], &weight = saved[1];
    const Tensor g = joined_gradient(grads);
    const JointPieces maps(*ctx);
    auto out = maps.gradients(
        *ctx, 4, [&](at::ScalarType type) { return device_product_as(type, g.t(), a); },
        [&](at::ScalarType type) { return over_rows(type, g); });
    if (ctx->needs_input_grad(0)) out[0] = device_product(g, weight);
    return out;
  }
};

}  // namespace

std::vector<Tensor> joint_matmul(const Tensor& a, std::span<const Factor> weights,
                                 std::span<const Factor> biases) {
  const auto joined = [](std::span<const Factor> factors) {
    std::vector<Tensor> values;
    for (const auto& f : factors) values.push_back(f.values);
    return values.empty() ? Tensor() : joined_view(values, 0);
  };
  const Tensor weight = joined(weights), bias = joined(biases);
  if (!weight.defined() || (!biases.empty() && !bias.defined())) return {};
  std::vector<Tensor> differentiated_ones;
  for (const auto& f : weights) differentiated_ones.push_back(differentiated(f));
  for (const auto& f : biases) differentiated_ones.push_back(differentiated(f));
  const at::TensorList all(differentiated_ones);
  const Maybe joined_bias = bias.defined() ? Maybe(bias) : std::nullopt;
  if (takes_fp8(a, weight)) return fp8_product(a, all, std::ssize(weights), weight, joined_bias);
  return JointMatmul::apply(a, all, std::ssize(weights), weight, joined_bias);
}

Tensor device_matmul(const Tensor& a, const Factor& b, const std::optional<Factor>& bias) {
  const Maybe values = bias ? Maybe(bias->values) : std::nullopt;
  const Tensor& weight = differentiated(b);
  if (b.maps && b.values.dim() == 2 && takes_fp8(a, b.values.t())) {
    std::vector<Tensor> of{weight.t()};
    if (bias) of.push_back(differentiated(*bias));
    return fp8_product(a, of, 1, b.values.detach().t(), values ? Maybe(values->detach()) : std::nullopt,
                       b.whole.get())
        .front();
  }
  const bool recorded = at::GradMode::is_enabled() && (a.requires_grad() || weight.requires_grad() ||
                                                       (bias && differentiated(*bias).requires_grad()));
  if (!recorded) return device_product(a, b.values, values);
  return DeviceMatmul::apply(a, weight, bias ? Maybe(differentiated(*bias)) : std::nullopt, b.values.detach(),
                             values ? Maybe(values->detach()) : std::nullopt);
}

}  // namespace bora::core::autograd
