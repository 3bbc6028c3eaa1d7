// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention on plain tensors whose keys lie on several workers.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/autograd/attention.h"
#include "bora/core/mapping.h"

namespace bora::core::autograd {

/// As attention() where queries, keys and values lie in equal shards over the workers, of whom each gets the
/// result for its queries: shards of keys and values come round the ring. k and v travel, and are kept for
/// the backward pass, as they are: f32, bf16 or f16. `rule.offset` is that of rank 0's queries;
/// `tensors.key_segments` are those of all keys.
at::Tensor ring_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const kernels::AttentionRule& rule, const RuleTensors& tensors,
                          Collectives& workers);

}  // namespace bora::core::autograd
