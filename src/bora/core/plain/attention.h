// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: as autograd/attention.h, of libtorch's ops.
#pragma once
#include <ATen/core/Tensor.h>

#include "bora/core/autograd/attention.h"

namespace bora::core::plain {

/// q [batch, position, kv head, group, dim], k and v [batch, key, kv head, dim]. Forms the scores
/// [batch, kv head, group, position, key].
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const kernels::AttentionRule& rule, const autograd::RuleTensors& tensors);

}  // namespace bora::core::plain
