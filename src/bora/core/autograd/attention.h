// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention on plain tensors, all keys here.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/kernels/cpu/attention.h"

namespace bora::core::autograd {

struct Segments {
  at::Tensor query, key;  ///< i32 [batch, positions], contiguous, or undefined
};
/// q [batch, position, kv head, group, dim], k and v [batch, key, kv head, dim].
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const kernels::AttentionRule& rule, const Segments& segments);

}  // namespace bora::core::autograd
