// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention by a device's own kernels.
#pragma once
#include "bora/core/autograd/attention.h"

namespace bora::core::autograd {

/// Whether the device of q has kernels for this: they take q, k and v of bf16 as they are.
bool takes_attention(const at::Tensor& q, const at::Tensor& k, const kernels::AttentionRule& rule,
                     const RuleTensors& tensors);
/// As attention(), where takes_attention().
at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const kernels::AttentionRule& rule, const RuleTensors& tensors);

}  // namespace bora::core::autograd
