// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention over sequences that several workers share (Liu, Zaharia and Abbeel 2023, arXiv:2310.01889). Each
// has a block of the queries and of the keys. Blocks of keys and values go from worker to worker round a ring
// while each worker computes with the one that it has; the gradients that a worker finds for a block go
// straight to its owner. What nobody further round sees (the future, what is outside the window) stays.
#include "bora/core/autograd/ring_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_ops.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>
#include <vector>

#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/cast.h"
#include "bora/core/autograd/ring.h"
#include "bora/core/kernels/cpu/threads.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor new_tensor(c10::IntArrayRef sizes, at::ScalarType type) {
  return at::_ops::empty_memory_format::call(c10::fromIntArrayRefSlow(sizes), type, {}, {}, {}, {});
}

void add(const Tensor& to, const Tensor& more) {
  constexpr std::int64_t kChunk = 1 << 16;
  float* a = to.mutable_data_ptr<float>();
  const float* b = more.const_data_ptr<float>();
  kernels::for_chunks(to.numel(), kChunk, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] += b[i];
  });
}

kernels::AttentionRule rule_for(const Ring& ring, int block) {
  auto here = ring.rule;
  here.offset += ring.rank() * ring.queries - block * ring.keys;
  return here;
}
RuleTensors tensors_of(const Ring& ring, int block, RuleTensors all) {
  auto& segments = all.key_segments;
  if (segments.defined()) segments = segments.narrow(1, block * ring.keys, ring.keys).contiguous();
  return all;
}

struct RingAttention : torch::autograd::Function<RingAttention> {
  static Tensor forward(AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        const std::optional<Tensor>& sinks, const kernels::AttentionRule& rule,
                        const RuleTensors& tensors, Collectives* workers) {
    const Tensor q = row_contiguous(query), k = key.contiguous(), v = value.contiguous();
    const Ring ring{*workers, rule, q.size(1), k.size(1)};
    const auto shape = attention_shape(q, k);
    Tensor out = new_tensor(q.sizes(), at::kFloat);
    const Tensor lse = new_tensor({shape.batch, shape.kv_heads, shape.group, shape.queries}, at::kFloat);
    const kernels::BetweenChunks look([workers] { workers->progress(); });
    Round round{ring, {k, v}, {}};
    bool joins = begin_with_sinks(shape, sinks, out, lse);
    for (int step = 0; step < ring.size(); ++step) {
      Passes passes;
      round.pass(step, passes);
      Travel travel(*workers, passes);
      if (round.seen()) {
        const KeyBlock wide = round.here.as(at::kFloat);
        const auto of_block = tensors_of(ring, round.block, tensors);  // lives while the rule points into it
        const auto here = with_tensors(rule_for(ring, round.block), of_block);
        kernels::attention_forward(shape, here, query_in(q), key_in(wide.k), key_in(wide.v), query_out(out),
                                   lse.mutable_data_ptr<float>(), joins);
        joins = true;
      }
      travel.finish();
      round.advance();
    }
    if (!joins) {
      out.zero_();
      lse.fill_(-std::numeric_limits<float>::infinity());
    }
    ctx->save_for_backward({q, k, v, out, lse, tensors.query_segments, tensors.key_segments, tensors.slopes,
                            sinks.value_or(Tensor())});
    ctx->saved_data["workers"] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(workers));
    keep(ctx, rule);
    return out;
  }

  // The gradients for a block leave a step after they were found, while the next ones are computed. Owners
  // add them in order of steps.
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto* workers = reinterpret_cast<Collectives*>(  // NOLINT: kept as a number by the context
        static_cast<std::intptr_t>(ctx->saved_data["workers"].toInt()));
    const auto s = ctx->get_saved_variables();
    const Tensor &q = s[0], &k = s[1], &out = s[3];
    const Tensor dout = row_contiguous(grads[0]), dq = new_tensor(q.sizes(), at::kFloat);
    const Ring ring{*workers, kept_rule(ctx), q.size(1), k.size(1)};
    const auto type = k.scalar_type();
    const kernels::BetweenChunks look([workers] { workers->progress(); });
    Round round{ring, {k, s[2]}, {}};
    KeyBlock own, found;
    bool joins = false;
    for (int step = 0; step <= ring.size(); ++step) {
      Passes passes;
      KeyBlock came;
      if (step < ring.size()) round.pass(step, passes);
      if (step > 1) {
        if (ring.comes_back(step - 1)) came = own.like(type);
        found.pass(1 - step, came, passes);
      }
      Travel travel(*workers, passes);
      KeyBlock fresh;
      if (step < ring.size() && round.seen()) {
        const KeyBlock wide = round.here.as(at::kFloat);
        fresh = wide.like(at::kFloat);
        const auto of_block = tensors_of(ring, round.block, {s[5], s[6], s[7], {}});
        const auto here = with_tensors(rule_for(ring, round.block), of_block);
        kernels::attention_backward(attention_shape(q, k), here, query_in(q), key_in(wide.k), key_in(wide.v),
                                    query_in(out), s[4].const_data_ptr<float>(), query_in(dout),
                                    query_out(dq), key_out(fresh.k), key_out(fresh.v), joins);
        joins = true;
      }
      travel.finish();
      round.advance();
      if (came.k.defined()) {
        const KeyBlock wide = came.as(at::kFloat);
        add(own.k, wide.k);
        add(own.v, wide.v);
      }
      if (step == 0)
        own = fresh.k.defined() ? fresh : zeros(round.here.like(at::kFloat));
      else
        found = fresh.k.defined() ? fresh.as(type) : KeyBlock();
    }
    if (!joins) dq.zero_();
    return {dq,
            cast(own.k, type),
            cast(own.v, type),
            sink_gradients(attention_shape(q, k), s[8], out, s[4], dout),
            Tensor(),
            Tensor(),
            Tensor()};
  }

 private:
  static KeyBlock zeros(const KeyBlock& x) {
    x.k.zero_();
    x.v.zero_();
    return x;
  }
};

}  // namespace

Tensor ring_attention(const Tensor& q, const Tensor& k, const Tensor& v, const kernels::AttentionRule& rule,
                      const RuleTensors& tensors, Collectives& workers) {
  return RingAttention::apply(q, k, v, if_any(tensors.sinks), rule, tensors, &workers);
}

}  // namespace bora::core::autograd
