// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention by libtorch's op of FlashAttention 2 (Dao 2023), which its part for CUDA has.
#pragma once
#include <cstdint>
#include <string_view>

#include "bora/core/autograd/attention.h"

namespace bora::core::autograd {

/// Why no kernel that keeps no scores, of whatever library, computes this, of 16 bits: "a soft cap"; empty where they do.
std::string_view why_not_in_one_pass(const at::Tensor& q, const at::Tensor& k,
                                     const kernels::AttentionRule& rule, const RuleTensors& tensors);
/// Why the op does not compute this, of q on a device: "fp32"; empty where it does. It takes q, k and v of bf16 or fp16
/// as they are, and memory that grows with the length alone.
std::string_view why_no_flash_attention(const at::Tensor& q, const at::Tensor& k,
                                        const kernels::AttentionRule& rule, const RuleTensors& tensors);
/// As attention(), where nothing speaks against it. The same bits each time.
at::Tensor flash_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const kernels::AttentionRule& rule, const RuleTensors& tensors);

// The ops themselves; nothing is recorded.

/// x [batch, position, heads..., dim] as [batch, position, heads, dim]; for documents as [position of all, heads, dim].
at::Tensor as_flash_takes(const at::Tensor& x, bool of_documents);

/// All but the arrays of a call. The last query stands at the last key. `starts_*`: where in q and in k documents begin, and
/// the end of the last, as many; undefined without.
struct FlashCall {
  kernels::AttentionRule rule = {};
  at::Tensor starts_q = {}, starts_k = {};
  std::int64_t most_q = 0, most_k = 0;  ///< positions of a sequence or a document
};
/// lse: natural logs, f32 [batch, heads, query], of documents [heads, query]; +inf of a query that sees nothing.
struct FlashResult {
  at::Tensor out, lse;
  at::Tensor seed, unused;  ///< which a backward pass is given again
};
FlashResult flash_forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const FlashCall& call);
/// Of a call over some of the keys: `of` is the result over all.
AttentionGradients flash_backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v, const FlashResult& of, const FlashCall& call);

}  // namespace bora::core::autograd
