// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/library_attention.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "bora/core/attention_library.h"
#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/flash_attention.h"
#include "bora/core/autograd/kernel_operand.h"
#include "bora/core/autograd/packs.h"
#include "bora/core/torch/node.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Strides = AttentionPlan::Strides;

const AttentionLibrary& library_of(const Tensor& x) { return attention_library(from_torch(x.device()).type); }
std::int8_t index_of(const Tensor& x) { return from_torch(x.device()).index; }

struct OfHeads {
  std::int64_t batch, positions, heads, dim;
  Strides contiguous() const { return {positions * heads * dim, heads * dim, dim}; }
};
// [batch, position, kv head, group, dim], or without group
OfHeads sizes_of_heads(const Tensor& x) {
  return {x.size(0), x.size(1), x.numel() / (x.size(0) * x.size(1) * x.size(-1)), x.size(-1)};
}

// Where a library may read x as it lies: with heads, and of documents all positions, one step apart.
std::optional<Strides> strides_as_it_lies(const Tensor& x, bool of_documents) {
  if (!in_packs(x)) return std::nullopt;
  const auto n = sizes_of_heads(x);
  const bool grouped = x.dim() == 5 && x.size(3) > 1;
  if (grouped && x.size(2) > 1 && x.stride(2) != x.stride(3) * x.size(3)) return std::nullopt;
  // What an axis of one element steps over is of no meaning, and would be another plan.
  Strides s{.position = n.positions > 1 ? x.stride(1) : n.heads * n.dim,
            .head = n.heads == 1 ? n.dim : x.stride(grouped ? 3 : 2)};
  s.batch = n.batch > 1 ? x.stride(0) : n.positions * s.position;
  if (of_documents && s.batch != n.positions * s.position) return std::nullopt;
  return s;
}
Tensor as_taken_by(const Tensor& x, bool of_documents) {
  return strides_as_it_lies(x, of_documents) ? x : x.contiguous();
}

// Whether gradients are side by side. cuDNN's sums over the heads of a group, of documents, have rows of as many elements
// as a position of the keys' gradients, for each head.
bool gradients_share_rows(const AttentionPlan& plan) {
  return plan.queries == plan.keys && (!plan.of_documents() || plan.group == 1);
}

AttentionPlan plan_of(const Tensor& q, const Tensor& k, const Tensor& v, const kernels::AttentionRule& rule,
                      const Documents& documents, bool apart_in_memory = false) {
  const bool apart = documents.starts.defined();
  const auto of_q = sizes_of_heads(q), of_k = sizes_of_heads(k);
  AttentionPlan plan{.batch = apart ? documents.starts.numel() - 1 : of_q.batch,
                     .queries = apart ? documents.longest : of_q.positions,
                     .keys = apart ? documents.longest : of_k.positions,
                     .positions = apart ? of_q.batch * of_q.positions : 0,
                     .kv_heads = of_k.heads,
                     .group = of_q.heads / of_k.heads,
                     .head_dim = of_q.dim,
                     .scale = rule.scale,
                     .causal = rule.causal,
                     .window = rule.window};
  const auto strides = [&](const Tensor& x, const OfHeads& n) {
    return strides_as_it_lies(x, apart).value_or(n.contiguous());
  };
  plan.q = strides(q, of_q);
  plan.k = strides(k, of_k);
  plan.v = strides(v, of_k);
  plan.out = of_q.contiguous();
  if (!apart_in_memory && gradients_share_rows(plan)) {
    const OfHeads all{of_q.batch, of_q.positions, of_q.heads + 2 * of_k.heads, of_q.dim};
    plan.dq = plan.dk = plan.dv = all.contiguous();
  } else {
    plan.dq = of_q.contiguous();
    plan.dk = plan.dv = of_k.contiguous();
  }
  if (apart)
    for (auto* x : {&plan.q, &plan.k, &plan.v, &plan.out, &plan.dq, &plan.dk, &plan.dv}) x->batch = 0;
  return plan;
}

// Libraries count elements before a document in 32 bits, also of each head of a group.
bool counts_in_32_bits(const AttentionPlan& p) {
  const auto row = std::max({p.q.position, p.k.position, p.v.position, p.out.position, p.dq.position,
                             p.dk.position * p.group, p.dv.position * p.group});
  return p.positions * row <= std::numeric_limits<std::int32_t>::max();
}

// As far as kernels of libraries go, of one block of a ring: its gradients are of arrays of their own, which travel.
AttentionPlan plan_of_block(const Tensor& q, const Tensor& k, const Tensor& v,
                            const kernels::AttentionRule& rule) {
  return plan_of(q, k, v, rule, {}, /*apart_in_memory=*/true);
}
const ReadyAttention& ready_for_block(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const kernels::AttentionRule& rule) {
  return library_of(q).ready(plan_of_block(q, k, v, rule), index_of(q));
}

Tensor room_beside(const Tensor& x, std::int64_t bytes) { return new_floats_beside(x, {(bytes + 3) / 4}); }

const std::int32_t* starts_of(const Tensor& starts) {
  return starts.defined() ? starts.const_data_ptr<std::int32_t>() : nullptr;
}

// The result, and a number for each query and head in the library's order.
AttentionPart computed(const ReadyAttention& by, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& starts, c10::IntArrayRef sizes_of_lse) {
  const Tensor out = new_beside(q, q.sizes()), lse = new_floats_beside(q, sizes_of_lse),
               room = room_beside(q, by.forward_room);
  library_of(q).forward(by, index_of(q),
                        {.q = q.const_data_ptr(),
                         .k = k.const_data_ptr(),
                         .v = v.const_data_ptr(),
                         .out = out.mutable_data_ptr(),
                         .lse = mutable_data(lse),
                         .starts = starts_of(starts),
                         .room = room.mutable_data_ptr()},
                        stream_of(q));
  return {out, lse};
}

// dout and the part's arrays contiguous; into `to`.
void compute_gradients(const ReadyAttention& by, const Tensor& dout, const Tensor& q, const Tensor& k,
                       const Tensor& v, const AttentionPart& part, const Tensor& starts,
                       const AttentionGradients& to) {
  const Tensor room = room_beside(q, by.backward_room);
  library_of(q).backward(by, index_of(q),
                         {.q = q.const_data_ptr(),
                          .k = k.const_data_ptr(),
                          .v = v.const_data_ptr(),
                          .out = part.out.mutable_data_ptr(),
                          .lse = mutable_data(part.lse),
                          .dout = dout.const_data_ptr(),
                          .dq = to.q.mutable_data_ptr(),
                          .dk = to.k.mutable_data_ptr(),
                          .dv = to.v.mutable_data_ptr(),
                          .starts = starts_of(starts),
                          .room = room.mutable_data_ptr()},
                         stream_of(q));
}

struct LibraryAttention : torch::autograd::Function<LibraryAttention> {
  static Tensor forward(AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Documents& documents, const ReadyAttention* by) {
    const bool apart = documents.starts.defined();
    const Tensor q = as_taken_by(query, apart), k = as_taken_by(key, apart), v = as_taken_by(value, apart);
    const auto part = computed(*by, q, k, v, documents.starts, {q.numel() / q.size(-1)});
    ctx->save_for_backward({q, k, v, part.out, part.lse, documents.starts});
    ctx->saved_data["by"] = reinterpret_cast<std::int64_t>(by);  // stays
    return part.out;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto s = ctx->get_saved_variables();
    const auto &q = s[0], &k = s[1], &v = s[2];
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as it was kept
    const auto& by = *reinterpret_cast<const ReadyAttention*>(ctx->saved_data["by"].toInt());
    const auto d = new_gradients(q, attention_shape(q, k), gradients_share_rows(by.plan));
    compute_gradients(by, grads[0].contiguous(), q, k, v, {s[3], s[4]}, s[5], d);
    return {d.q, d.k, d.v, Tensor(), Tensor()};
  }
};

// The last query stands at the last key: keys behind it, which nobody sees, are left out.
Tensor keys_seen(const Tensor& x, const Tensor& q, const kernels::AttentionRule& rule) {
  const auto count = rule.causal ? rule.offset + q.size(1) : x.size(1);
  return count == x.size(1) ? x : x.narrow(1, 0, count);
}
// Whatever the plan.
std::string why_no_library(const Tensor& q, const Tensor& k, const kernels::AttentionRule& rule,
                           const RuleTensors& tensors) {
  const auto& library = library_of(q);
  if (!library.why_not.empty()) return library.why_not;
  if (q.scalar_type() != at::kBFloat16)
    return q.scalar_type() == at::kHalf ? "fp16" : "neither bf16 nor fp16";
  return std::string(why_not_in_one_pass(q, k, rule, tensors));
}
Documents documents_of(const RuleTensors& tensors) {
  return tensors.documents == nullptr ? Documents() : *tensors.documents;
}

}  // namespace

const ReadyAttention* ready_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const kernels::AttentionRule& rule, const RuleTensors& tensors,
                                      std::string& why_not) {
  why_not = why_no_library(q, k, rule, tensors);
  if (!why_not.empty()) return nullptr;
  const auto plan = plan_of(q, keys_seen(k, q, rule), keys_seen(v, q, rule), rule, documents_of(tensors));
  if (!counts_in_32_bits(plan)) {
    why_not = "documents of more than 2^31 elements together";
    return nullptr;
  }
  const auto& ready = library_of(q).ready(plan, index_of(q));
  why_not = ready.why_not;
  return why_not.empty() ? &ready : nullptr;
}

Tensor library_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                         const kernels::AttentionRule& rule, const RuleTensors& tensors,
                         const ReadyAttention& by) {
  return LibraryAttention::apply(q, keys_seen(k, q, rule), keys_seen(v, q, rule), documents_of(tensors), &by);
}

std::string why_no_library_block(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const kernels::AttentionRule& rule) {
  auto why = why_no_library(q, k, rule, {});
  return why.empty() ? ready_for_block(q, k, v, rule).why_not : why;
}

AttentionPart library_forward(const Tensor& q, const Tensor& k, const Tensor& v,
                              const kernels::AttentionRule& rule) {
  return computed(ready_for_block(q, k, v, rule), q, k, v, {}, {q.size(0), q.size(2) * q.size(3), q.size(1)});
}

AttentionGradients library_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionPart& whole, const kernels::AttentionRule& rule) {
  auto d = new_gradients(q, attention_shape(q, k), /*side_by_side=*/false);
  const AttentionPart as_taken{whole.out.contiguous(), whole.lse.contiguous()};
  compute_gradients(ready_for_block(q, k, v, rule), dout.contiguous(), q, k, v, as_taken, {}, d);
  return d;
}

}  // namespace bora::core::autograd
