// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention by libtorch's op of FlashAttention 2 (Dao 2023), which its part for CUDA has.
#pragma once
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

}  // namespace bora::core::autograd
