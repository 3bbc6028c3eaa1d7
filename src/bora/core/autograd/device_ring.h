// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Private to core: ring_attention() of a device, by kernels that keep no scores.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "bora/core/autograd/attention.h"
#include "bora/core/mapping.h"

namespace bora::core::autograd {

/// Why keys and values, of which k is this worker's block, are gathered and go round no ring: "a soft cap"; empty where they
/// do. `tensors.documents` are those of all keys. The same on all workers of a ring.
std::string_view why_no_device_ring(const at::Tensor& q, const at::Tensor& k,
                                    const kernels::AttentionRule& rule, const RuleTensors& tensors);
/// Why not all blocks are computed by the library of q's device, which has one; empty where they are.
std::string why_no_library_ring(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const kernels::AttentionRule& rule, const RuleTensors& tensors,
                                const Collectives& workers);
/// As ring_attention(), of q in 16 bits, k and v contiguous, where nothing speaks against it: by the library, or by
/// FlashAttention. The same bits each time.
at::Tensor device_ring_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const kernels::AttentionRule& rule, const RuleTensors& tensors,
                                 Collectives& workers, bool library);

}  // namespace bora::core::autograd
