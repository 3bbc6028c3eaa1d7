// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: attention by a library of its own (core/attention_library.h), as cuDNN.
#pragma once
#include <string>

#include "bora/core/autograd/attention.h"

namespace bora::core::autograd {

/// Why the library of q's device, which has one, does not compute this; empty where it does. It takes bf16.
std::string why_no_library_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const kernels::AttentionRule& rule, const RuleTensors& tensors);
/// As attention(), where nothing speaks against it. The same bits each time.
at::Tensor library_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const kernels::AttentionRule& rule, const RuleTensors& tensors);

}  // namespace bora::core::autograd
