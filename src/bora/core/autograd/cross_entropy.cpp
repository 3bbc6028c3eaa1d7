// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/cross_entropy.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/autograd/device_head_pass.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/autograd/head_pass.h"
#include "bora/core/autograd/root_gradient.h"
#include "bora/core/layout/convert.h"
#include "bora/core/plain/cross_entropy.h"

namespace bora::core::autograd {

// A target below 0 stands where nothing is to be predicted.
void check_targets(std::string_view op, const at::Tensor& targets, const at::Tensor* weights,
                   std::int64_t vocab) {
  const auto* t = targets.const_data_ptr<std::int32_t>();
  const auto* w = weights == nullptr ? nullptr : weights->const_data_ptr<float>();
  for (std::int64_t i = 0; i < targets.numel(); ++i) {
    if (t[i] < vocab && (t[i] >= 0 || w == nullptr || w[i] == 0)) continue;
    fail(ErrorKind::InvalidArgument,
         "{}: target {} at position {} is outside the vocabulary of {}\nhint: the tokenizer and the model "
         "disagree on vocab_size",
         op, t[i], i, vocab);
  }
}

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Of a target below 0 the weight is 0, whatever a device was given.
Tensor counted(const Tensor& weights, const Tensor& targets) {
  return weights.mul(targets.ge(0).to(at::kFloat));
}

Tensor sum_of(const DeviceHeadPass& pass) {
  Tensor losses = pass.losses;
  if (pass.rule.z_loss != 0) losses = losses.add(pass.lse.mul(pass.lse), pass.rule.z_loss);
  return losses.mul(pass.weights).sum();
}

// Sums of losses: their gradients are known with them. They are those of `head` and `bias`, of which the values may be
// copies.
struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden, const Tensor& head,
                        const std::optional<Tensor>& bias, const Tensor& head_values,
                        const std::optional<Tensor>& bias_values, const Tensor& targets,
                        const Tensor& weights, const CrossEntropyRule& rule) {
    const Tensor shifts = bias_values.value_or(Tensor());
    bool gradient = hidden.requires_grad() || head.requires_grad() || (bias && bias->requires_grad());
    const auto keep = [&](const auto& pass) {
      if (!gradient) return;
      ctx->saved_data["hidden"] = cast(pass.dhidden, hidden.scalar_type());
      ctx->saved_data["head"] = cast(pass.dhead, head.scalar_type());
      if (bias) ctx->saved_data["bias"] = cast(pass.dbias, bias->scalar_type());
    };
    if (!hidden.is_cpu()) {
      DeviceHeadPass pass{hidden, head_values, shifts, targets, counted(weights, targets), rule, gradient};
      pass.run();
      keep(pass);
      return sum_of(pass);
    }
    HeadPass pass{hidden, head_values, shifts, targets, weights, rule, gradient};
    pass.run();
    keep(pass);
    auto loss = new_floats({});
    *loss.mutable_data_ptr<float>() = static_cast<float>(pass.loss);
    return loss;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto known = std::exchange(ctx->saved_data, {});
    const bool scaled = !RootGradient::is(grads[0]);
    const auto gradient = [&](const char* of) {
      const auto at = known.find(of);
      if (at == known.end()) return Tensor();
      auto x = at->second.toTensor();
      return scaled ? x.mul_(grads[0].to(x.scalar_type())) : x;
    };
    return {sum_of_lanes(gradient("hidden").unbind(0)),
            gradient("head"),
            gradient("bias"),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& hidden, const Factor& head, const std::optional<Factor>& bias,
                            const Tensor& targets, const Tensor& weights, const CrossEntropyRule& rule) {
  if (targets.is_cpu())  // a device would have to be waited for
    check_targets("linear_cross_entropy", targets, &weights, rule.vocab);
  if (!has_head_kernel(hidden))
    return plain::linear_cross_entropy(hidden, head.values, bias ? std::optional(bias->values) : std::nullopt,
                                       targets, weights, rule);
  return LinearCrossEntropy::apply(
      hidden, differentiated(head), bias ? std::optional(differentiated(*bias)) : std::nullopt,
      head.values.detach(), bias ? std::optional(bias->values.detach()) : std::nullopt, targets, weights,
      rule);
}

}  // namespace bora::core::autograd
