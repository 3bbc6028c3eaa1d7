// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/scores.h"

#include <ATen/ops/empty_ops.h>
#include <ATen/ops/neg_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/device_head_pass.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/autograd/head_pass.h"
#include "bora/core/kernels/cpu/threads.h"
#include "bora/core/layout/convert.h"
#include "bora/core/plain/cross_entropy.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor new_ids(c10::IntArrayRef sizes) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), at::kInt, {}, {}, {}, {});
}

// Log-probabilities alone; `then` sees the logits of each chunk.
Tensor log_probs(const Tensor& hidden, const Tensor& head, const Tensor& bias, const Tensor& targets,
                 const CrossEntropyRule& rule, const HeadPass::Look& then = {}) {
  auto out = new_floats({hidden.size(0)});
  auto none = new_floats({hidden.size(0)});
  none.zero_();
  auto* p = out.mutable_data_ptr<float>();
  HeadPass pass{hidden, head, bias, targets, none, rule, false};
  pass.look = [&](std::int64_t first, std::int64_t rows, const float* losses, const float* lse,
                  const float* logits) {
    for (std::int64_t i = 0; i < rows; ++i) p[first + i] = -losses[i];
    if (then) then(first, rows, losses, lse, logits);
  };
  pass.run();
  return out;
}

// In fp32, as plain ops: they are compared with each other.
Tensor device_log_probs(const Tensor& hidden, const Tensor& head, const Tensor& bias, const Tensor& targets,
                        const CrossEntropyRule& rule) {
  const auto none = new_floats_beside(hidden, {hidden.size(0)}).zero_();
  DeviceHeadPass pass{wide(hidden), wide(head), bias, targets, none, rule, false};
  pass.run();
  return at::_ops::neg::call(pass.losses);
}

struct LinearLogProb : torch::autograd::Function<LinearLogProb> {
  // Gradients are of `head` and `bias`, of which the values may be copies.
  static Tensor forward(AutogradContext* ctx, const Tensor& hidden, const Tensor& of_head,
                        const std::optional<Tensor>& of_bias, const Tensor& head,
                        const std::optional<Tensor>& bias, const Tensor& targets,
                        const CrossEntropyRule& rule) {
    ctx->save_for_backward({hidden, head, bias.value_or(Tensor()), targets});
    ctx->saved_data["head"] = of_head.scalar_type();
    if (of_bias) ctx->saved_data["bias"] = of_bias->scalar_type();
    ctx->saved_data["rule"] = c10::IValue::make_capsule(c10::make_intrusive<Rule>(rule));
    return hidden.is_cpu() ? log_probs(hidden, head, bias.value_or(Tensor()), targets, rule)
                           : device_log_probs(hidden, head, bias.value_or(Tensor()), targets, rule);
  }
  // -log p is a loss, of which each position's gradient is a weight.
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const auto rule = c10::static_intrusive_pointer_cast<Rule>(ctx->saved_data["rule"].toCapsule());
    const auto weights = at::_ops::neg::call(wide(grads[0]));
    const auto gradients = [&](auto pass) -> variable_list {
      pass.run();
      return {sum_of_lanes(cast(pass.dhidden, saved[0].scalar_type()).unbind(0)),
              cast(pass.dhead, ctx->saved_data["head"].toScalarType()),
              saved[2].defined() ? cast(pass.dbias, ctx->saved_data["bias"].toScalarType()) : Tensor(),
              Tensor(),
              Tensor(),
              Tensor(),
              Tensor()};
    };
    if (saved[0].is_cpu())
      return gradients(HeadPass{saved[0], saved[1], saved[2], saved[3], weights, rule->rule, true});
    return gradients(
        DeviceHeadPass{wide(saved[0]), wide(saved[1]), saved[2], saved[3], weights, rule->rule, true});
  }

 private:
  struct Rule : torch::CustomClassHolder {
    explicit Rule(const CrossEntropyRule& r) : rule(r) {}
    CrossEntropyRule rule;
  };
};

// How many tokens are more probable; of equally probable ones those with a lower id.
std::int32_t rank_of(const float* logits, std::int64_t vocab, std::int32_t target) {
  if (target < 0) return -1;
  const float own = logits[target];
  std::int32_t rank = 0;
  for (std::int64_t i = 0; i < vocab; ++i) rank += logits[i] > own;
  for (std::int32_t i = 0; i < target; ++i) rank += logits[i] == own;
  return rank;
}

void top_of(const float* logits, std::int64_t vocab, float lse, std::int64_t top, std::int32_t* ids,
            float* log_prob) {
  using Token = std::pair<float, std::int32_t>;
  const auto before = [](const Token& a, const Token& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  };
  std::vector<Token> best;  // a heap: the last of the best in front
  for (std::int32_t i = 0; i < vocab; ++i) {
    if (std::ssize(best) == top) {
      if (!(logits[i] > best.front().first)) continue;
      std::pop_heap(best.begin(), best.end(), before);
      best.pop_back();
    }
    best.emplace_back(logits[i], i);
    std::push_heap(best.begin(), best.end(), before);
  }
  std::sort_heap(best.begin(), best.end(), before);
  for (std::size_t k = 0; k < best.size(); ++k) {
    ids[k] = best[k].second;
    log_prob[k] = best[k].first - lse;
  }
}

}  // namespace

Tensor linear_log_prob(const Tensor& hidden, const Factor& head, const std::optional<Factor>& bias,
                       const Tensor& targets, const CrossEntropyRule& rule, std::string_view op) {
  if (targets.is_cpu()) check_targets(op, targets, nullptr, rule.vocab);
  const auto bias_values = bias ? std::optional(bias->values) : std::nullopt;
  if (!has_head_kernel(hidden))
    return plain::linear_log_prob(hidden, head.values, bias_values, targets, rule);
  return LinearLogProb::apply(
      hidden, differentiated(head), bias ? std::optional(differentiated(*bias)) : std::nullopt,
      head.values.detach(), bias ? std::optional(bias->values.detach()) : std::nullopt, targets, rule);
}

Scores linear_scores(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                     const Tensor& targets, const CrossEntropyRule& rule, bool rank, std::int64_t top) {
  if (targets.is_cpu()) check_targets("linear_scores", targets, nullptr, rule.vocab);
  if (!has_head_kernel(hidden)) return plain::linear_scores(hidden, head, bias, targets, rule, rank, top);
  if (!hidden.is_cpu()) {
    auto out =
        rank || top > 0 ? plain::linear_scores(hidden, head, bias, targets, rule, rank, top) : Scores();
    out.log_prob =
        device_log_probs(hidden.detach(), head.detach(), bias ? bias->detach() : Tensor(), targets, rule);
    return out;
  }
  const auto n = hidden.size(0);
  Scores out{
      .rank = new_ids({rank ? n : 0}), .top_ids = new_ids({n, top}), .top_log_prob = new_floats({n, top})};
  const auto* t = targets.const_data_ptr<std::int32_t>();
  auto *ranks = out.rank.mutable_data_ptr<std::int32_t>(),
       *ids = out.top_ids.mutable_data_ptr<std::int32_t>();
  auto* probs = out.top_log_prob.mutable_data_ptr<float>();
  const auto look = [&](std::int64_t first, std::int64_t rows, const float*, const float* lse,
                        const float* logits) {
    kernels::for_chunks(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto at = first + i;
        if (rank) ranks[at] = rank_of(logits + i * rule.vocab, rule.vocab, t[at]);
        if (top > 0)
          top_of(logits + i * rule.vocab, rule.vocab, lse[i], top, ids + at * top, probs + at * top);
      }
    });
  };
  out.log_prob = log_probs(hidden.detach(), head.detach(), bias ? bias->detach() : Tensor(), targets, rule,
                           rank || top > 0 ? HeadPass::Look(look) : HeadPass::Look());
  return out;
}

}  // namespace bora::core::autograd
