// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "sdpa.h"

#include <fmt/core.h>

namespace bora::cudnn {
namespace {

using core::AttentionPlan;
using Strides = AttentionPlan::Strides;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// Largest divisors first.
template <class F>
std::optional<std::int64_t> largest_divisor(std::int64_t n, const F& fits) {
  for (std::int64_t parts = 1; parts <= n; ++parts)
    if (n % parts == 0 && fits(n / parts)) return n / parts;
  return std::nullopt;
}

const void* moved(const void* p, std::int64_t elements) {
  return p == nullptr ? p : static_cast<const char*>(p) + 2 * elements;
}
void* moved(void* p, std::int64_t elements) {
  return p == nullptr ? p : static_cast<char*>(p) + 2 * elements;
}

}  // namespace

std::optional<Parts> parts_of(const AttentionPlan& plan, std::int64_t most) {
  const auto bytes_of_head = 2 * rounded_up(plan.queries, 64) * rounded_up(plan.keys, 128);
  const auto fits = [&](std::int64_t batch, std::int64_t kv_heads) {
    return batch * kv_heads * plan.group <= most / bytes_of_head;
  };
  if (const auto batch = largest_divisor(plan.batch, [&](std::int64_t n) { return fits(n, plan.kv_heads); }))
    return Parts{*batch, plan.kv_heads};
  if (const auto heads = largest_divisor(plan.kv_heads, [&](std::int64_t n) { return fits(1, n); }))
    return Parts{1, *heads};
  return std::nullopt;
}

std::int64_t count(const AttentionPlan& plan, const Parts& parts) {
  return plan.batch / parts.batch * (plan.kv_heads / parts.kv_heads);
}

Parts forward_parts(const AttentionPlan& plan, const Parts& parts) {
  return {plan.batch, plan.of_documents() ? parts.kv_heads : plan.kv_heads};
}

Sdpa sdpa_of(const AttentionPlan& plan, const Parts& part) {
  const bool apart = plan.of_documents();
  const auto heads = part.kv_heads * plan.group, s = plan.queries, d = plan.head_dim;
  const auto operand = [&](const Strides& x, std::int64_t n, std::int64_t positions) {
    return Operand{{part.batch, n, positions, d},
                   {apart ? positions * x.position : x.batch, x.head, x.position, 1},
                   apart ? x.position : 0};
  };
  Sdpa out{.q = operand(plan.q, heads, s),
           .k = operand(plan.k, part.kv_heads, plan.keys),
           .v = operand(plan.v, part.kv_heads, plan.keys),
           .out = operand(plan.out, heads, s),
           .stats = {{part.batch, heads, s, 1}, {heads * s, s, 1, 1}, 0},
           .dq = operand(plan.dq, heads, s),
           .dk = operand(plan.dk, part.kv_heads, plan.keys),
           .dv = operand(plan.dv, part.kv_heads, plan.keys),
           .scale = plan.scale,
           .causal = plan.causal,
           .bottom_right = plan.queries != plan.keys,
           .left_bound = {},
           .positions = plan.positions};
  if (apart) out.stats = {{part.batch, heads, s, 1}, {heads * s, 1, heads, 1}, heads};
  if (plan.window > 0 && plan.window < plan.keys) out.left_bound = plan.window;
  return out;
}

core::AttentionArrays arrays_of(const AttentionPlan& plan, std::int64_t first, std::int64_t head,
                                const core::AttentionArrays& whole) {
  const bool apart = plan.of_documents();
  const auto at_q = [&](const Strides& x) {
    return (apart ? 0 : first * x.batch) + head * plan.group * x.head;
  };
  const auto at_k = [&](const Strides& x) { return (apart ? 0 : first * x.batch) + head * x.head; };
  core::AttentionArrays out = whole;
  out.q = moved(whole.q, at_q(plan.q));
  out.k = moved(whole.k, at_k(plan.k));
  out.v = moved(whole.v, at_k(plan.v));
  out.out = moved(whole.out, at_q(plan.out));
  out.dout = moved(whole.dout, at_q(plan.out));
  out.dq = moved(whole.dq, at_q(plan.dq));
  out.dk = moved(whole.dk, at_k(plan.dk));
  out.dv = moved(whole.dv, at_k(plan.dv));
  const auto numbers = apart ? plan.positions : plan.queries;  // of a head
  out.lse = whole.lse + (head + (apart ? 0 : first * plan.kv_heads)) * plan.group * numbers;
  out.starts = apart ? whole.starts + first : nullptr;
  return out;
}

std::string version_text(std::int64_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace bora::cudnn
