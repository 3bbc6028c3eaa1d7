// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/attention.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/floats.h"
#include "bora/core/plain/attention.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Attention : torch::autograd::Function<Attention> {
  static Tensor forward(AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        const std::optional<Tensor>& sinks, const kernels::AttentionRule& rule,
                        const RuleTensors& tensors) {
    auto q = row_contiguous(query), k = row_contiguous(key), v = row_contiguous(value);
    auto shape = attention_shape(q, k);
    auto out = new_floats(q.sizes());
    auto lse = new_floats({shape.batch, shape.kv_heads, shape.group, shape.queries});
    const bool joins = begin_with_sinks(shape, sinks, out, lse);
    kernels::attention_forward(shape, with_tensors(rule, tensors), query_in(q), key_in(k), key_in(v),
                               query_out(out), lse.mutable_data_ptr<float>(), joins);
    ctx->save_for_backward({q, k, v, out, lse, tensors.query_segments, tensors.key_segments, tensors.slopes,
                            sinks.value_or(Tensor())});
    keep(ctx, rule);
    return out;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    auto s = ctx->get_saved_variables();
    const auto &q = s[0], &k = s[1], &v = s[2], &out = s[3];
    auto dout = row_contiguous(grads[0]);
    const auto shape = attention_shape(q, k);
    const auto d = new_gradients(q, shape, shape.queries == shape.keys);
    kernels::attention_backward(shape, with_tensors(kept_rule(ctx), {s[5], s[6], s[7], {}}), query_in(q),
                                key_in(k), key_in(v), query_in(out), s[4].const_data_ptr<float>(),
                                query_in(dout), query_out(d.q), key_out(d.k), key_out(d.v));
    return {d.q, d.k, d.v, sink_gradients(shape, s[8], out, s[4], dout), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const kernels::AttentionRule& rule,
                 const RuleTensors& tensors) {
  return has_kernel(q) ? Attention::apply(q, k, v, if_any(tensors.sinks), rule, tensors)
                       : plain::attention(q, k, v, rule, tensors);
}

}  // namespace bora::core::autograd
