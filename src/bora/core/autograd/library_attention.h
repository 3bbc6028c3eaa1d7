// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention by a library of its own (core/attention_library.h), as cuDNN.
#pragma once
#include <string>

#include "bora/core/attention_library.h"
#include "bora/core/autograd/attention.h"
#include "bora/core/autograd/attention_joint.h"

namespace bora::core::autograd {

/// What the library of q's device, which has one, has made for this; null where it does not compute it, with the reason in
/// `why_not`. It takes bf16.
const ReadyAttention* ready_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const kernels::AttentionRule& rule, const RuleTensors& tensors,
                                      std::string& why_not);
/// As attention(), by what ready_attention() of the same has given. The same bits each time.
at::Tensor library_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const kernels::AttentionRule& rule, const RuleTensors& tensors,
                             const ReadyAttention& by);

// The library itself, for a block of keys; nothing is recorded. k and v [batch, key, kv head, dim], q with the axis group.

/// As why_no_library_attention.
std::string why_no_library_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const kernels::AttentionRule& rule);
/// lse: natural logs, f32 [batch, heads, query]; -inf of a query that sees nothing.
AttentionPart library_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const kernels::AttentionRule& rule);
/// `whole`: the result over all keys. dout is contiguous or becomes so.
AttentionGradients library_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                    const at::Tensor& v, const AttentionPart& whole,
                                    const kernels::AttentionRule& rule);

}  // namespace bora::core::autograd
