// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/layout/attention_axes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/refusal.h"

namespace bora::core {

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

NameList query_order(const HeadRoles& roles, std::string_view position, std::string_view head_dim) {
  NameList order = roles.batch;
  order.push_back(position);
  order.insert(order.end(), roles.kv_heads.begin(), roles.kv_heads.end());
  order.insert(order.end(), roles.group.begin(), roles.group.end());
  order.push_back(head_dim);
  return order;
}

NameList key_order(const HeadRoles& roles, std::string_view key_position, std::string_view head_dim) {
  NameList order = roles.batch;
  order.push_back(key_position);
  order.insert(order.end(), roles.kv_heads.begin(), roles.kv_heads.end());
  order.push_back(head_dim);
  return order;
}

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
  if (!rule.slopes.empty() && rule.slopes.rank() == std::ssize(rule.slope_names))
    out.push_back({rule.slopes, rule.slope_names});  // of another rank: of_heads refuses them
  return out;
}

}  // namespace bora::core
