// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: how tensors q [batch, position, kv head, group, dim] and k, v [batch, key, kv head, dim]
// are handed to the attention kernels.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bora/core/autograd/attention.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/kernels/cpu/attention.h"
#include "bora/core/kernels/cpu/attention_sinks.h"

namespace bora::core::autograd {

inline at::Tensor row_contiguous(const at::Tensor& x) {
  return x.stride(-1) == 1 || x.size(-1) == 1 ? x : x.contiguous();
}

template <class T>
kernels::HeadsRef<T> query_ref(const at::Tensor& x, T* data) {
  return {data, x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
}
template <class T>
kernels::HeadsRef<T> key_ref(const at::Tensor& x, T* data) {
  return {data, x.stride(0), x.stride(1), x.stride(2), 0};
}
inline kernels::HeadsRef<const float> query_in(const at::Tensor& x) {
  return query_ref(x, x.const_data_ptr<float>());
}
inline kernels::HeadsRef<const float> key_in(const at::Tensor& x) {
  return key_ref(x, x.const_data_ptr<float>());
}
inline kernels::HeadsRef<float> query_out(const at::Tensor& x) {
  return query_ref(x, x.mutable_data_ptr<float>());
}
inline kernels::HeadsRef<float> key_out(const at::Tensor& x) {
  return key_ref(x, x.mutable_data_ptr<float>());
}

inline kernels::AttentionShape attention_shape(const at::Tensor& q, const at::Tensor& k) {
  return {.batch = q.size(0),
          .queries = q.size(1),
          .keys = k.size(1),
          .kv_heads = q.size(2),
          .group = q.size(3),
          .head_dim = q.size(4)};
}

/// Room for the gradients of q, k and v, of q's type: side by side at each position, as a map of the hidden state to all
/// three has its results, or each for itself.
inline AttentionGradients new_gradients(const at::Tensor& q, const kernels::AttentionShape& s,
                                        bool side_by_side) {
  const auto of_q = s.kv_heads * s.group, of_k = s.kv_heads, d = s.head_dim;
  const auto of_keys = [&] { return new_beside(q, {s.batch, s.keys, of_k, d}); };
  const std::array<std::int64_t, 5> sizes_of_q{s.batch, s.queries, s.kv_heads, s.group, d};
  if (!side_by_side) return {new_beside(q, sizes_of_q), of_keys(), of_keys()};
  const at::Tensor all = new_beside(q, {s.batch, s.queries, of_q + 2 * of_k, d});
  return {all.narrow(2, 0, of_q).view(sizes_of_q), all.narrow(2, of_q, of_k),
          all.narrow(2, of_q + of_k, of_k)};
}

inline kernels::AttentionRule with_tensors(kernels::AttentionRule rule, const RuleTensors& tensors) {
  if (tensors.query_segments.defined()) {
    rule.query_segments = tensors.query_segments.const_data_ptr<std::int32_t>();
    rule.key_segments = tensors.key_segments.const_data_ptr<std::int32_t>();
  }
  if (tensors.slopes.defined()) rule.slopes = tensors.slopes.const_data_ptr<float>();
  return rule;
}

/// Whether out and lse [batch, kv head, group, position] now hold the result over sinks, to be joined.
inline bool begin_with_sinks(const kernels::AttentionShape& shape, const std::optional<at::Tensor>& sinks,
                             const at::Tensor& out, const at::Tensor& lse) {
  if (!sinks) return false;
  kernels::begin_with_sinks(shape, sinks->const_data_ptr<float>(), query_out(out),
                            lse.mutable_data_ptr<float>());
  return true;
}
/// The gradient of sinks, undefined where they are.
inline at::Tensor sink_gradients(const kernels::AttentionShape& shape, const at::Tensor& sinks,
                                 const at::Tensor& out, const at::Tensor& lse, const at::Tensor& dout) {
  if (!sinks.defined()) return {};
  auto gradients = new_floats(sinks.sizes());
  kernels::sink_gradients(shape, sinks.const_data_ptr<float>(), query_in(out), lse.const_data_ptr<float>(),
                          query_in(dout), gradients.mutable_data_ptr<float>());
  return gradients;
}
/// As an argument of a recorded function.
inline std::optional<at::Tensor> if_any(const at::Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

/// The rule without its tensors, for the backward pass.
inline void keep(torch::autograd::AutogradContext* ctx, const kernels::AttentionRule& r) {
  ctx->saved_data["rule"] = std::vector<double>{r.scale, r.causal ? 1.0 : 0.0, static_cast<double>(r.offset),
                                                static_cast<double>(r.window), r.soft_cap};
}
inline kernels::AttentionRule kept_rule(torch::autograd::AutogradContext* ctx) {
  auto v = ctx->saved_data["rule"].toDoubleVector();
  return {.scale = static_cast<float>(v[0]),
          .causal = v[1] != 0,
          .offset = static_cast<std::int64_t>(v[2]),
          .window = static_cast<std::int64_t>(v[3]),
          .soft_cap = static_cast<float>(v[4])};
}

}  // namespace bora::core::autograd
