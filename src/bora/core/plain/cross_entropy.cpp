// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/cross_entropy.h"

#include <ATen/core/Tensor.h>

#include "bora/core/plain/widen.h"

namespace bora::core::plain {

using at::Tensor;

Tensor linear_cross_entropy(const Tensor& hidden, const Tensor& head, const std::optional<Tensor>& bias,
                            const Tensor& targets, const Tensor& weights,
                            const autograd::CrossEntropyRule& rule) {
  Tensor logits = widened(hidden).mm(widened(head).t());
  if (rule.logit_scale != 1) logits = logits.mul(rule.logit_scale);
  if (bias) logits = logits.add(bias->to(logits.scalar_type()));
  if (rule.soft_cap > 0) logits = logits.div(rule.soft_cap).tanh().mul(rule.soft_cap);
  const Tensor lse = logits.logsumexp(1);
  const Tensor chosen = targets.to(at::kLong).clamp_min(0).unsqueeze(1);
  Tensor losses = lse.sub(logits.gather(1, chosen).squeeze(1));
  if (rule.z_loss != 0) losses = losses.add(lse.mul(lse).mul(rule.z_loss));
  const Tensor counted = weights.mul(targets.ge(0).to(weights.scalar_type()));
  return losses.mul(counted.to(losses.scalar_type())).sum();
}

}  // namespace bora::core::plain
