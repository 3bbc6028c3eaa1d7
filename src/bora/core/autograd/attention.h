// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention on plain tensors, all keys here.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/kernels/cpu/attention.h"

namespace bora::core {
struct Documents;  // torch/node.h
}
namespace bora::core::autograd {

/// What a rule points into: contiguous, or undefined.
struct RuleTensors {
  at::Tensor query_segments, key_segments;  ///< i32 [batch, positions]
  at::Tensor slopes;                        ///< f32 [kv head, group]
  at::Tensor sinks;                         ///< of q's type [kv head, group]; alone here has a gradient
  const Documents* documents = nullptr;     ///< of the segments, where they are known
};
/// Of queries, keys and values, each as it lies.
struct AttentionGradients {
  at::Tensor q, k, v;
};
/// q [batch, position, kv head, group, dim], k and v [batch, key, kv head, dim].
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const kernels::AttentionRule& rule, const RuleTensors& tensors);

}  // namespace bora::core::autograd
