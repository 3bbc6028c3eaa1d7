// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/attention.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/core/attention_library.h"
#include "bora/core/autograd/attention.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/device_attention.h"
#include "bora/core/autograd/device_ring.h"
#include "bora/core/autograd/flash_attention.h"
#include "bora/core/autograd/library_attention.h"
#include "bora/core/autograd/ring_attention.h"
#include "bora/core/autograd/rope.h"
#include "bora/core/grad.h"
#include "bora/core/layout/arrange.h"
#include "bora/core/layout/attention_axes.h"
#include "bora/core/layout/checks.h"
#include "bora/core/layout/layout.h"
#include "bora/core/layout/refusal.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/device.h"

namespace bora::core {
namespace {

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

// The workers round whom keys and values can travel: those over whom they lie in shards as the queries do. A device's
// kernels may not do it.
Collectives* ring_of(const Space& space, const Operand& k, const Operand& v, const AttentionAxes& axes) {
  auto* workers = space.workers(axes.position);
  const auto can = [](const at::Tensor& x) { return autograd::has_kernel(x) || autograd::on_a_device(x); };
  if (workers == nullptr || workers->size() == 1 || !can(alike(k.array)) ||
      space.size(axes.position) != space.size(axes.key_position))
    return nullptr;
  std::size_t m = 0;
  while (&mapping()->workers(m) != workers) ++m;
  const auto in_blocks = [&](const Operand& x) {
    return cuts_of(x.array)[m] == find(x.names, axes.key_position);
  };
  return !mapping()->fixed(m) && in_blocks(k) && in_blocks(v) ? workers : nullptr;
}

// x as it lies, in shards along its own positions as the queries are along theirs.
at::Tensor own_block(const Operand& q, const Operand& x, const AttentionAxes& axes) {
  NameList names(x.names.begin(), x.names.end());
  std::replace(names.begin(), names.end(), axes.key_position, axes.position);
  const Operand as_queries{x.array, names};
  return Space("attention", {q, as_queries}, {&axes.head_dim, 1}).local(as_queries);
}

// Of segments that are the same of queries and keys, and all here: Documents of what `here` holds.
const Documents* documents_of(const AttentionRule& rule, const at::Tensor& here) {
  if (!here.defined() || rule.query_segments.node() != rule.key_segments.node()) return nullptr;
  const Node& node = *rule.query_segments.node();
  const bool all = here.is_alias_of(node.tensor) && here.numel() == node.tensor.numel();
  return all ? node.documents.get() : nullptr;
}

// Queries and keys that wait for their rotary embedding, by the same angles.
void turn_together(const Array& q, const Array& k) {
  if (q.node() == k.node()) return;
  auto &a = q.node()->turn, &b = k.node()->turn;
  if (!a || !b || !a->cos.is_same(b->cos) || !a->sin.is_same(b->sin) || a->pairs != b->pairs ||
      a->recorded != b->recorded || a->recorded != at::GradMode::is_enabled() ||
      a->x.scalar_type() != b->x.scalar_type() || !autograd::turns_on_a_device(a->x))
    return;
  const auto both = autograd::rope_of_both(a->x, b->x, a->cos, a->sin, a->pairs);
  q.node()->tensor = both.first.view(a->like.sizes());
  k.node()->tensor = both.second.view(b->like.sizes());
  a.reset();
  b.reset();
}

// Once for each line.
void tell_once(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(line).second) log_info("{}", line);
}

void tell_of_plain(Device device, std::string_view why) {
  tell_once(fmt::format(
      "attention of plain operations on {} ({}): slower, and its memory grows with the square of the length",
      name(device), why));
}

// Of what keeps no scores, the first that computes this, the fastest first: the device's library, libtorch's op. None:
// plain operations. A line says what was passed over, and why. The library is for training alone, blocks that are computed
// again included: it makes a plan for each shape, and prompts come in any length.
std::optional<at::Tensor> in_one_pass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const kernels::AttentionRule& rule,
                                      const autograd::RuleTensors& tensors) {
  const auto device = from_torch(q.device());
  const auto& library = attention_library(device.type);
  std::string passed_over;
  if (!library.name.empty() && (recording() || in_unrecorded_run)) {
    std::string why;
    if (const auto* by = autograd::ready_attention(q, k, v, rule, tensors, why))
      return autograd::library_attention(q, k, v, rule, tensors, *by);
    passed_over = fmt::format("{}: {}", library.name, why);
  }
  const auto why = autograd::why_no_flash_attention(q, k, rule, tensors);
  if (why.empty()) {
    if (!passed_over.empty())
      tell_once(fmt::format("attention by FlashAttention on {} ({})", name(device), passed_over));
    return autograd::flash_attention(q, k, v, rule, tensors);
  }
  if (passed_over.ends_with(why)) passed_over.clear();
  tell_of_plain(device, fmt::format("{}{}{}", why, passed_over.empty() ? "" : "; ", passed_over));
  return std::nullopt;
}

// The same where keys go round a ring. Without a value they do not, and nobody has spoken to another.
std::optional<at::Tensor> round_a_ring(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                       const kernels::AttentionRule& rule,
                                       const autograd::RuleTensors& tensors, Collectives& workers) {
  if (autograd::takes_attention(q, k, rule, tensors)) return std::nullopt;  // which are given all keys
  if (!autograd::why_no_device_ring(q, k, rule, tensors).empty()) return std::nullopt;
  const auto device = from_torch(q.device());
  const auto& library = attention_library(device.type);
  bool by_library = !library.name.empty() && (recording() || in_unrecorded_run);
  const at::Tensor keys = k.contiguous(), values = v.contiguous();
  if (by_library) {
    const auto why = autograd::why_no_library_ring(q, keys, values, rule, tensors, workers);
    by_library = why.empty();
    if (!by_library)
      tell_once(fmt::format("attention by FlashAttention on {} ({}: {})", name(device), library.name, why));
  }
  return autograd::device_ring_attention(q, keys, values, rule, tensors, workers, by_library);
}

}  // namespace

void tell_of_plain_attention(const Array& x, std::string_view why) {
  if (autograd::on_a_device(tensor(x))) tell_of_plain(from_torch(tensor(x).device()), why);
}

Array attention(const Operand& q, const Operand& k, const Operand& v, const AttentionAxes& axes,
                const AttentionRule& rule) try {
  if (!q.array.empty() && !k.array.empty()) turn_together(q.array, k.array);
  const std::array<std::string_view, 2> never_cut{axes.key_position, axes.head_dim};
  Space space("attention", operands_of(q, k, v, rule), never_cut);
  check_attention(q, k, v, axes);
  check_rule(rule, q);
  auto roles = head_roles(q, k, axes, rule);
  auto b = product(space, roles.batch), h = product(space, roles.kv_heads), g = product(space, roles.group);
  auto t = space.part(axes.position), s = space.size(axes.key_position), d = space.size(axes.head_dim);
  auto* ring = ring_of(space, k, v, axes);

  const auto q_order = query_order(roles, axes.position, axes.head_dim);
  auto k_order = key_order(roles, axes.key_position, axes.head_dim);
  auto dtype = space.local(q).scalar_type();
  const bool on_device = autograd::on_a_device(space.local(q));
  auto widen = [](const at::Tensor& x) {
    return x.scalar_type() == at::kDouble ? x : autograd::cast(x, at::kFloat);
  };
  auto widen_here = [&](const at::Tensor& x) { return on_device ? x : widen(x); };
  auto qt = reshaped(permuted(widen_here(space.local(q)), q.names, q_order), {b, t, h, g, d});
  auto keys = [&](const Operand& x) {
    auto here = ring == nullptr ? widen_here(space.local(x)) : own_block(q, x, axes);
    return reshaped(permuted(here, x.names, k_order), {b, ring == nullptr ? s : t, h, d});
  };

  kernels::AttentionRule kernel_rule{
      .scale = static_cast<float>(rule.scale > 0 ? rule.scale : 1 / std::sqrt(double(d))),
      .causal = rule.causal,
      .offset = rule.offset,
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
  const auto result = [&](const at::Tensor& out) {
    return space.label(permuted(reshaped(out, sizes_of(space, q_order)), q_order, q.names), q.names);
  };
  if (on_device && ring != nullptr) {
    tensors.documents = documents_of(rule, tensors.key_segments);
    if (const auto out = round_a_ring(qt, keys(k), keys(v), kernel_rule, tensors, *ring)) return result(*out);
    ring = nullptr;
  }
  if (ring == nullptr) kernel_rule.offset += space.first(axes.position);
  auto kt = keys(k), vt = keys(v);
  if (on_device && autograd::takes_attention(qt, kt, kernel_rule, tensors))
    return result(autograd::device_attention(qt, kt, vt, kernel_rule, tensors));
  if (on_device && !plain_ops()) {
    tensors.documents = documents_of(rule, tensors.query_segments);
    if (const auto out = in_one_pass(qt, kt, vt, kernel_rule, tensors)) return result(*out);
  }
  if (on_device) {
    qt = widen(qt);
    kt = widen(kt);
    vt = widen(vt);
  }
  auto wide = ring == nullptr ? autograd::attention(qt, kt, vt, kernel_rule, tensors)
                              : autograd::ring_attention(qt, kt, vt, kernel_rule, tensors, *ring);
  return result(autograd::cast(wide, dtype));
} catch (...) {
  rethrow("attention", {q, k, v});
}

}  // namespace bora::core
