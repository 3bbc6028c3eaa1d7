// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/cross_entropy.h"

#include <ATen/core/Tensor.h>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

namespace {

Tensor logits_of(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                 const autograd::CrossEntropyRule& rule) {
  Tensor logits = widened(hidden).mm(widened(head).t());
  if (rule.logit_scale != 1) logits = logits.mul(rule.logit_scale);
  if (bias) logits = logits.add(bias->to(logits.scalar_type()));
  if (rule.soft_cap > 0) logits = logits.div(rule.soft_cap).tanh().mul(rule.soft_cap);
  return logits;
}

// Of the targets; of those below 0 some column.
Tensor chosen(const Tensor& x, const Tensor& targets) {
  return x.gather(1, targets.to(at::kLong).clamp_min(0).unsqueeze(1)).squeeze(1);
}

Tensor counts(const Tensor& targets, at::ScalarType type) { return targets.ge(0).to(type); }

}  // namespace

Tensor linear_cross_entropy(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                            const Tensor& targets, const Tensor& weights,
                            const autograd::CrossEntropyRule& rule) {
  const Tensor logits = logits_of(hidden, head, bias, rule), lse = logits.logsumexp(1);
  Tensor losses = lse.sub(chosen(logits, targets));
  if (rule.z_loss != 0) losses = losses.add(lse.mul(lse).mul(rule.z_loss));
  const Tensor counted = weights.mul(counts(targets, weights.scalar_type()));
  return losses.mul(counted.to(losses.scalar_type())).sum();
}

Tensor linear_log_prob(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                       const Tensor& targets, const autograd::CrossEntropyRule& rule) {
  const Tensor logits = logits_of(hidden, head, bias, rule);
  const Tensor log_prob = chosen(logits, targets).sub(logits.logsumexp(1));
  return log_prob.mul(counts(targets, log_prob.scalar_type())).to(at::kFloat);
}

autograd::Scores linear_scores(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                               const Tensor& targets, const autograd::CrossEntropyRule& rule, bool rank,
                               std::int64_t top) {
  const Tensor logits = logits_of(hidden, head, bias, rule).detach().to(at::kFloat),
               lse = logits.logsumexp(1, /*keepdim=*/true);
  autograd::Scores out{.log_prob = linear_log_prob(hidden, head, bias, targets, rule).detach()};
  const auto [sorted, ids] = logits.sort(/*stable=*/true, 1, /*descending=*/true);
  if (rank) {  // -1 where there is no target
    const Tensor counted = counts(targets, at::kInt);
    out.rank =
        ids.eq(targets.unsqueeze(1)).to(at::kInt).argmax(1).to(at::kInt).mul(counted).add(counted).sub(1);
  }
  out.top_ids = ids.narrow(1, 0, top).to(at::kInt);
  out.top_log_prob = sorted.narrow(1, 0, top).sub(lse);
  return out;
}

}  // namespace bora::core::plain
