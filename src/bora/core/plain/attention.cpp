// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/attention.h"

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/constant_pad_nd_ops.h>

#include <optional>
#include <vector>

namespace bora::core::plain {
namespace {

using at::Tensor;

Tensor count_to(std::int64_t n, const Tensor& beside) {
  return at::_ops::arange::call(n, at::kLong, {}, beside.device(), {});
}

// The keys that a query does not see: bool, ready to broadcast with [batch, kv head, group, position, key];
// undefined where it sees all.
Tensor hidden_keys(const Tensor& q, const Tensor& k, const kernels::AttentionRule& rule,
                   const autograd::RuleTensors& tensors) {
  const auto b = q.size(0), t = q.size(1), s = k.size(1);
  const Tensor at = count_to(t, q).add(rule.offset).view({t, 1}), key = count_to(s, q).view({1, s});
  Tensor hidden;
  const auto also = [&](const Tensor& more) { hidden = hidden.defined() ? hidden.logical_or(more) : more; };
  if (rule.causal) also(key.gt(at));
  if (rule.window > 0) also(key.le(at.sub(rule.window)));
  if (hidden.defined()) hidden = hidden.view({1, 1, 1, t, s});
  if (tensors.query_segments.defined())
    also(tensors.query_segments.view({b, 1, 1, t, 1}).ne(tensors.key_segments.view({b, 1, 1, 1, s})));
  return hidden;
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const kernels::AttentionRule& rule,
                 const autograd::RuleTensors& tensors) {
  const auto b = q.size(0), t = q.size(1), h = q.size(2), g = q.size(3), d = q.size(4), s = k.size(1);
  const Tensor queries = q.permute({0, 2, 3, 1, 4}).reshape({b * h, g * t, d});
  const Tensor keys = k.permute({0, 2, 3, 1}).reshape({b * h, d, s});
  const Tensor values = v.permute({0, 2, 1, 3}).reshape({b * h, s, d});
  Tensor scores = queries.bmm(keys).mul(static_cast<double>(rule.scale));
  if (rule.soft_cap > 0) {
    const auto cap = static_cast<double>(rule.soft_cap);
    scores = scores.div(cap).tanh().mul(cap);
  }
  scores = scores.view({b, h, g, t, s});
  if (tensors.slopes.defined()) {
    const Tensor distance = count_to(s, q).view({1, s}).sub(count_to(t, q).add(rule.offset).view({t, 1}));
    scores = scores.add(tensors.slopes.view({1, h, g, 1, 1}).mul(distance).to(scores.scalar_type()));
  }
  Tensor hidden = hidden_keys(q, k, rule, tensors);
  if (tensors.sinks.defined()) {  // one more key, which every query sees and whose value is left out below
    const Tensor sink = tensors.sinks.view({1, h, g, 1, 1}).expand({b, h, g, t, 1});
    const std::vector<Tensor> both{scores, sink.to(scores.scalar_type())};
    scores = at::_ops::cat::call(at::ITensorListRef(both), -1);
    if (hidden.defined()) hidden = at::_ops::constant_pad_nd::call(hidden, {0, 1}, 0);
  }
  // not minus infinity: a query that sees no key gets zeros, and no NaN goes back from it
  constexpr double kNothing = -1e30;
  Tensor p = hidden.defined() ? scores.masked_fill(hidden, kNothing).softmax(-1).masked_fill(hidden, 0)
                              : scores.softmax(-1);
  if (tensors.sinks.defined()) p = p.narrow(-1, 0, s).contiguous();
  return p.view({b * h, g * t, s}).bmm(values).view({b, h, g, t, d}).permute({0, 3, 1, 2, 4});
}

}  // namespace bora::core::plain
