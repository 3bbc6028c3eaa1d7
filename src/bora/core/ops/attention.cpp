// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/attention.h"

#include <ATen/core/Tensor.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bora/base/error.h"
#include "bora/core/autograd/attention.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/ring_attention.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {
namespace {

// Axes of an attention call by role.
struct HeadRoles {
  NameList batch, kv_heads, group;
};

HeadRoles head_roles(const Operand& q, const Operand& k, const AttentionAxes& axes,
                     const AttentionRule& rule) {
  HeadRoles roles;
  bool segments = !rule.query_segments.empty();
  int position = find(q.names, axes.position);
  for (auto axis : q.names) {
    if (axis == axes.position || axis == axes.head_dim) continue;
    bool is_batch = segments ? find(rule.segment_names, axis) >= 0 : find(q.names, axis) < position;
    bool shared = find(k.names, axis) >= 0;
    (is_batch && shared ? roles.batch : shared ? roles.kv_heads : roles.group).push_back(axis);
  }
  return roles;
}

void check_attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes) {
  require("attention", q, axes.position);
  require("attention", q, axes.head_dim);
  require("attention", k, axes.key_position);
  require("attention", k, axes.head_dim);
  for (auto axis : k.names) {
    require("attention", v, axis);
    if (axis != axes.key_position) require("attention", q, axis);
  }
  if (find(q.names, axes.key_position) >= 0) {
    fail(ErrorKind::InvalidArgument,
         "attention: the query {} must not have the axis {}\nhint: rename the keys' position axis",
         describe(q), axes.key_position);
  }
}

void check_rule(const AttentionRule& rule, const Operand& q) {
  const auto none_below_zero = [&](std::string_view what, double value) {
    if (value >= 0) return;
    fail(ErrorKind::InvalidArgument, "attention: the {} for {} is {}\nhint: 0 means none, or the default",
         what, describe(q), value);
  };
  none_below_zero("window", static_cast<double>(rule.window));
  none_below_zero("soft cap", rule.soft_cap);
  none_below_zero("scale", rule.scale);
  for (const auto& segments : {rule.query_segments, rule.key_segments})
    if (!segments.empty()) require_indices("attention", {segments, rule.segment_names});
}

NameList key_order(const HeadRoles& roles, std::string_view key_position, std::string_view head_dim) {
  NameList order = roles.batch;
  order.push_back(key_position);
  order.insert(order.end(), roles.kv_heads.begin(), roles.kv_heads.end());
  order.push_back(head_dim);
  return order;
}

at::Tensor segments_here(const Space& space, const Operand& segments, std::int64_t batch,
                         std::int64_t positions, std::string_view of) {
  if (segments.array.empty()) return {};
  auto t = space.local(segments).to(at::kInt).contiguous();
  if (t.numel() != batch * positions || t.size(-1) != positions) {
    fail(ErrorKind::InvalidArgument, "attention: the segments {} are not those of {} x {} {}",
         describe(segments), batch, positions, of);
  }
  return reshaped(t, {batch, positions});
}

// A number for each of this worker's heads [kv heads..., group...], undefined without.
at::Tensor of_heads(const Space& space, std::string_view what, const Operand& x, const HeadRoles& roles) {
  if (x.array.empty()) return {};
  NameList order = roles.kv_heads;
  order.insert(order.end(), roles.group.begin(), roles.group.end());
  const bool same =
      x.names.size() == order.size() && std::ssize(order) == x.array.rank() &&
      std::all_of(order.begin(), order.end(), [&](auto axis) { return find(x.names, axis) >= 0; });
  if (!same) {
    fail(ErrorKind::InvalidArgument, "attention: the {} have the sizes [{}], the heads the axes {}", what,
         fmt::join(x.array.sizes(), ", "), fmt::join(order, ", "));
  }
  return permuted(space.local(x), x.names, order);
}

std::vector<Operand> operands_of(const Operand& q, const Operand& k, const Operand& v,
                                 const AttentionRule& rule) {
  std::vector<Operand> out{q, k, v};
  if (!rule.sinks.empty()) out.push_back({rule.sinks, rule.sink_names});
  return out;
}

// The workers round whom keys and values can travel: those over whom they lie in blocks as the queries do.
Collectives* ring_of(const Space& space, const Operand& k, const Operand& v, const AttentionAxes& axes) {
  auto* workers = space.workers(axes.position);
  if (workers == nullptr || workers->size() == 1 || !autograd::has_kernel(tensor(k.array)) ||
      space.size(axes.position) != space.size(axes.key_position))
    return nullptr;
  std::size_t m = 0;
  while (&mapping()->workers(m) != workers) ++m;
  const auto in_blocks = [&](const Operand& x) {
    return cuts_of(x.array)[m] == find(x.names, axes.key_position);
  };
  return !mapping()->fixed(m) && in_blocks(k) && in_blocks(v) ? workers : nullptr;
}

// x as it lies, in blocks along its own positions as the queries are along theirs.
at::Tensor own_block(const Operand& q, const Operand& x, const AttentionAxes& axes) {
  NameList names(x.names.begin(), x.names.end());
  std::replace(names.begin(), names.end(), axes.key_position, axes.position);
  const Operand as_queries{x.array, names};
  return Space("attention", {q, as_queries}, {&axes.head_dim, 1}).local(as_queries);
}

}  // namespace

Array attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes,
                const AttentionRule& rule) try {
  const std::array<std::string_view, 2> never_cut{axes.key_position, axes.head_dim};
  Space space("attention", operands_of(q, k, v, rule), never_cut);
  check_attention(q, k, v, axes);
  check_rule(rule, q);
  auto roles = head_roles(q, k, axes, rule);
  auto b = product(space, roles.batch), h = product(space, roles.kv_heads), g = product(space, roles.group);
  auto t = space.part(axes.position), s = space.size(axes.key_position), d = space.size(axes.head_dim);
  auto* ring = ring_of(space, k, v, axes);

  NameList q_order = roles.batch;
  q_order.push_back(axes.position);
  q_order.insert(q_order.end(), roles.kv_heads.begin(), roles.kv_heads.end());
  q_order.insert(q_order.end(), roles.group.begin(), roles.group.end());
  q_order.push_back(axes.head_dim);
  auto k_order = key_order(roles, axes.key_position, axes.head_dim);
  auto dtype = space.local(q).scalar_type();
  auto widen = [](const at::Tensor& x) {
    return x.scalar_type() == at::kDouble ? x : autograd::cast(x, at::kFloat);
  };
  auto qt = reshaped(permuted(widen(space.local(q)), q.names, q_order), {b, t, h, g, d});
  auto keys = [&](const Operand& x) {
    auto here = ring == nullptr ? widen(space.local(x)) : own_block(q, x, axes);
    return reshaped(permuted(here, x.names, k_order), {b, ring == nullptr ? s : t, h, d});
  };
  auto kt = keys(k), vt = keys(v);

  kernels::AttentionRule kernel_rule{
      .scale = static_cast<float>(rule.scale > 0 ? rule.scale : 1 / std::sqrt(double(d))),
      .causal = rule.causal,
      .offset = rule.offset + (ring == nullptr ? space.first(axes.position) : 0),
      .window = rule.window,
      .soft_cap = static_cast<float>(rule.soft_cap)};
  NameList key_names = rule.segment_names;
  std::replace(key_names.begin(), key_names.end(), axes.position, axes.key_position);
  autograd::RuleTensors tensors{
      segments_here(space, {rule.query_segments, rule.segment_names}, b, t, "queries"),
      segments_here(space, {rule.key_segments, key_names}, b, s, "keys"),
      of_heads(space, "slopes", {rule.slopes, rule.slope_names}, roles),
      of_heads(space, "sinks", {rule.sinks, rule.sink_names}, roles)};
  if (tensors.slopes.defined()) tensors.slopes = tensors.slopes.to(at::kFloat).contiguous();
  if (tensors.sinks.defined()) tensors.sinks = reshaped(widen(tensors.sinks), {h, g}).contiguous();
  auto wide = ring == nullptr ? autograd::attention(qt, kt, vt, kernel_rule, tensors)
                              : autograd::ring_attention(qt, kt, vt, kernel_rule, tensors, *ring);
  auto out = autograd::cast(wide, dtype);
  auto y = permuted(reshaped(out, sizes_of(space, q_order)), q_order, q.names);
  return space.label(y, q.names);
} catch (...) {
  rethrow("attention", {q, k, v});
}

}  // namespace bora::core
