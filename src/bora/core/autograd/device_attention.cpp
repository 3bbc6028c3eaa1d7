// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/device_attention.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "bora/core/autograd/attention_refs.h"
#include "bora/core/autograd/kernel_operand.h"

namespace bora::core::autograd {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using In = DeviceKernels::Attention::In;
using Out = DeviceKernels::Attention::Out;
In of_query(const Tensor& x) { return query_ref(x, x.const_data_ptr()); }
In of_key(const Tensor& x) { return key_ref(x, x.const_data_ptr()); }
Out to_query(const Tensor& x) { return query_ref(x, x.mutable_data_ptr()); }
Out to_key(const Tensor& x) { return key_ref(x, x.mutable_data_ptr()); }

Tensor as_taken(const Tensor& x) {
  return row_contiguous(x.scalar_type() == at::kBFloat16 ? x : cast(x, at::kFloat));
}

struct DeviceAttention : torch::autograd::Function<DeviceAttention> {
  static Tensor forward(AutogradContext* ctx, const Tensor& query, const Tensor& key, const Tensor& value,
                        const kernels::AttentionRule& rule, const RuleTensors& tensors) {
    const Tensor q = as_taken(query), k = as_taken(key), v = as_taken(value);
    const auto shape = attention_shape(q, k);
    const Tensor out = new_beside(q, q.sizes()),
                 lse = new_floats_beside(q, {shape.batch, shape.kv_heads, shape.group, shape.queries});
    recorded_kernels(q).attention.forward(kernel_type(q), shape, with_tensors(rule, tensors), of_query(q),
                                          of_key(k), of_key(v), to_query(out), mutable_data(lse),
                                          stream_of(q));
    ctx->save_for_backward({q, k, v, out, lse, tensors.query_segments, tensors.key_segments, tensors.slopes});
    ctx->saved_data["type"] = static_cast<std::int64_t>(query.scalar_type());
    keep(ctx, rule);
    return cast(out, query.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto s = ctx->get_saved_variables();
    const auto &q = s[0], &k = s[1], &v = s[2], &out = s[3], &lse = s[4];
    const Tensor dout = as_taken(grads[0]);
    const auto shape = attention_shape(q, k);
    const auto& entry = recorded_kernels(q).attention;
    const auto d = new_gradients(q, shape, shape.queries == shape.keys);
    const Tensor room = entry.room == nullptr ? Tensor() : new_floats_beside(q, {entry.room(shape)});
    entry.backward(kernel_type(q), shape, with_tensors(kept_rule(ctx), {s[5], s[6], s[7], {}}), of_query(q),
                   of_key(k), of_key(v), of_query(out), data(lse), of_query(dout), to_query(d.q), to_key(d.k),
                   to_key(d.v), mutable_data(room), stream_of(q));
    const auto type = static_cast<at::ScalarType>(ctx->saved_data["type"].toInt());
    return {cast(d.q, type), cast(d.k, type), cast(d.v, type), Tensor(), Tensor()};
  }
};

}  // namespace

bool takes_attention(const Tensor& q, const Tensor& k, const kernels::AttentionRule& rule,
                     const RuleTensors& tensors) {
  if (!on_a_device(q) || tensors.sinks.defined()) return false;
  const auto takes = device_kernels(q).attention.takes;
  const auto type = q.scalar_type() == at::kBFloat16 ? DType::bf16 : DType::f32;
  return takes != nullptr && takes(type, attention_shape(q, k), with_tensors(rule, tensors));
}

Tensor device_attention(const Tensor& q, const Tensor& k, const Tensor& v, const kernels::AttentionRule& rule,
                        const RuleTensors& tensors) {
  return DeviceAttention::apply(q, k, v, rule, tensors);
}

}  // namespace bora::core::autograd
