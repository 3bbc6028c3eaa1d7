// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/fused.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/expand_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/mul_ops.h>

#include <algorithm>
#include <array>
#include <optional>

#include "bora/base/error.h"
#include "bora/core/elementwise.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/fused_autograd.h"

namespace bora::core {
namespace {

std::int64_t product(const Space& space, Names names) {
  std::int64_t n = 1;
  for (auto axis : names) n *= space.part(axis);
  return n;
}

std::vector<std::int64_t> sizes_of(const Space& space, Names names) {
  std::vector<std::int64_t> out;
  for (auto axis : names) out.push_back(space.part(axis));
  return out;
}

// x as [rows, the axes `over` together], and back again.
struct Rows {
  const Space& space;
  Operand x;
  NameList order;
  std::int64_t columns;

  Rows(const Space& s, const Operand& operand, Names over) : space(s), x(operand), columns(product(s, over)) {
    for (auto axis : over) require(s.op(), operand, axis);
    order = without(x.names, over);
    order.insert(order.end(), over.begin(), over.end());
  }
  at::Tensor flat() const { return reshaped(permuted(space.local(x), x.names, order), {-1, columns}); }
  Array restore(const at::Tensor& y) const {
    auto full = reshaped(y, sizes_of(space, order));
    return space.label(permuted(full, order, x.names), x.names);
  }
};

std::optional<at::Tensor> flat_parameter(const Space& space, const Array& p, Names names) {
  if (p.empty()) return std::nullopt;
  return reshaped(space.local({p, names}), {-1});
}

Space norm_space(std::string_view op, const Operand& x, const Array& weight, Names over) {
  return weight.empty() ? Space(op, {x}, over) : Space(op, {x, Operand{weight, over}}, over);
}

kernels::Activation activation_of(Gate gate) {
  switch (gate) {
    case Gate::silu:
      return kernels::Activation::silu;
    case Gate::gelu:
      return kernels::Activation::gelu_erf;
    case Gate::gelu_tanh:
      return kernels::Activation::gelu_tanh;
    case Gate::quick_gelu:
      return kernels::Activation::quick_gelu;
    case Gate::relu:
      return kernels::Activation::relu;
  }
  return kernels::Activation::silu;
}

Unary unary_of(Gate gate) {
  switch (gate) {
    case Gate::silu:
      return Unary::silu;
    case Gate::gelu:
      return Unary::gelu;
    case Gate::gelu_tanh:
      return Unary::gelu_tanh;
    case Gate::quick_gelu:
      return Unary::quick_gelu;
    case Gate::relu:
      return Unary::relu;
  }
  return Unary::silu;
}

}  // namespace

Array rms_norm(const Operand& x, const Array& weight, Names over, double eps) {
  Space space = norm_space("rms_norm", x, weight, over);
  Rows rows(space, x, over);
  return rows.restore(autograd::rms_norm(rows.flat(), flat_parameter(space, weight, over), eps));
}

Array layer_norm(const Operand& x, const Array& weight, const Array& bias, Names over, double eps) {
  Space space = norm_space("layer_norm", x, weight, over);
  Rows rows(space, x, over);
  return rows.restore(autograd::layer_norm(rows.flat(), flat_parameter(space, weight, over),
                                           flat_parameter(space, bias, over), eps));
}

Array gated(Gate activation, const Operand& gate, const Operand& up) {
  Space space("gated", {gate, up});
  const auto g = space.local(gate);
  if (!autograd::has_kernel(g)) {
    auto activated = unary(unary_of(activation), gate);
    return binary(Binary::multiply, {activated, gate.names}, up, gate.names);
  }
  auto u = permuted(space.local(up), up.names, gate.names);
  return space.label(autograd::gated(activation_of(activation), g, u), gate.names);
}

Array rope(const Operand& x, std::string_view position, std::string_view dim, const Array& cos,
           const Array& sin) {
  Space space("rope", {x}, {&dim, 1});
  require("rope", x, position);
  require("rope", x, dim);
  if (cos.size(0) < space.size(position) || 2 * cos.size(1) > space.size(dim)) {
    fail(ErrorKind::InvalidArgument,
         "rope: angles for {} positions and {} dimensions do not fit {}\nhint: the sequence is longer than "
         "the model's seq_len, or head_dim is odd",
         cos.size(0), 2 * cos.size(1), describe(x));
  }
  NameList batch, heads;
  for (auto axis : x.names) {
    if (axis == position || axis == dim) continue;
    (find(x.names, axis) < find(x.names, position) ? batch : heads).push_back(axis);
  }
  NameList order = batch;
  order.push_back(position);
  order.insert(order.end(), heads.begin(), heads.end());
  order.push_back(dim);
  auto flat = reshaped(permuted(space.local(x), x.names, order),
                       {product(space, batch), space.part(position), product(space, heads), space.size(dim)});
  auto here = [&](const Array& angles) {
    const auto& all = tensor(angles);
    return space.first(position) == 0 ? all : all.narrow(0, space.first(position), space.part(position));
  };
  auto y = reshaped(autograd::rope(flat, here(cos), here(sin)), sizes_of(space, order));
  return space.label(permuted(y, order, x.names), x.names);
}

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

// The workers round whom keys and values can travel: those over whom they lie in blocks as the queries do.
Collectives* ring_of(const Space& space, const Operand& k, const Operand& v, const AttentionAxes& axes) {
  auto* workers = space.workers(axes.position);
  if (workers == nullptr || workers->size() == 1 ||
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
                const AttentionRule& rule) {
  const std::array<std::string_view, 2> never_cut{axes.key_position, axes.head_dim};
  Space space("attention", {q, k, v}, never_cut);
  check_attention(q, k, v, axes);
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
  auto widen = [](const at::Tensor& x) { return autograd::cast(x, at::kFloat); };
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
  autograd::Segments segments{
      segments_here(space, {rule.query_segments, rule.segment_names}, b, t, "queries"),
      segments_here(space, {rule.key_segments, key_names}, b, s, "keys")};
  auto wide = ring == nullptr ? autograd::attention(qt, kt, vt, kernel_rule, segments)
                              : autograd::ring_attention(qt, kt, vt, kernel_rule, segments, *ring);
  auto out = autograd::cast(wide, dtype);
  auto y = permuted(reshaped(out, sizes_of(space, q_order)), q_order, q.names);
  return space.label(y, q.names);
}

CrossEntropy linear_cross_entropy(const Operand& hidden, const Operand& head, const Operand& targets,
                                  const Operand& weights, double z_loss, std::int64_t chunk) {
  auto embed = without(hidden.names, targets.names);
  Space space("linear_cross_entropy", {hidden, head, targets, weights}, embed);
  space.by_lanes();
  auto vocab = without(head.names, embed);
  if (vocab.size() != 1 || embed.size() + 1 != head.names.size()) {
    fail(ErrorKind::InvalidArgument,
         "linear_cross_entropy: the head {} must have the axes {} of the hidden state {} and one more, the "
         "vocabulary",
         describe(head), describe(embed), describe(hidden));
  }
  NameList positions(targets.names.begin(), targets.names.end());
  NameList hidden_order = positions, head_order{vocab[0]};
  hidden_order.insert(hidden_order.end(), embed.begin(), embed.end());
  head_order.insert(head_order.end(), embed.begin(), embed.end());
  auto n = product(space, positions), e = product(space, embed);
  auto x = reshaped(permuted(space.local(hidden), hidden.names, hidden_order), {n, e});
  auto w = reshaped(permuted(space.local(head), head.names, head_order), {space.part(vocab[0]), e});
  auto t = reshaped(space.local(targets).to(at::kInt), {n}).contiguous();
  auto p =
      reshaped(permuted(space.local(weights).to(at::kFloat), weights.names, positions), {n}).contiguous();
  const autograd::CrossEntropyRule cut{.z_loss = z_loss,
                                       .chunk = chunk,
                                       .vocab = space.size(vocab[0]),
                                       .first = space.first(vocab[0]),
                                       .lanes = vocab[0] == space.laned() ? space.lanes() : 1,
                                       .workers = space.workers(vocab[0])};
  auto loss = autograd::linear_cross_entropy(x, w, t, p, cut);
  Array sum = reduce(Reduction::sum, {weights.array, weights.names}, weights.names);
  return {whole({space.label(loss, {}, vocab), {}}), whole({sum, {}})};
}

Array cross_entropy(const Operand& logits, std::string_view vocab, const Operand& targets) {
  Space space("cross_entropy", {logits, targets}, {&vocab, 1});
  require("cross_entropy", logits, vocab);
  NameList over{vocab};
  auto log_p = log_softmax(logits, over);
  auto rows = without(logits.names, over);
  NameList order = rows;
  order.push_back(vocab);
  auto flat = permuted(space.local({log_p, logits.names}), logits.names, order);
  auto index = permuted(space.local(targets).to(at::kLong), targets.names, rows).unsqueeze(-1);
  return space.label(flat.gather(-1, index).squeeze(-1).neg(), rows);
}

}  // namespace bora::core
