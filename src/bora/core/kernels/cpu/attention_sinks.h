// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Sinks: a score for each head that takes part in every query's softmax and has no value (Xiao et al. 2024,
// arXiv:2309.17453), so that a head may look at nothing.
#pragma once
#include "bora/core/kernels/cpu/attention.h"

namespace bora::kernels {

/// What attention_forward joins keys to: out 0, and lse the sinks, f32 [kv_head, group]. To be called with `joins`.
void begin_with_sinks(const AttentionShape& shape, const float* sinks, HeadsRef<float> out, float* lse);

/// Writes dsinks [kv_head, group] from out and lse over all keys and the sinks.
void sink_gradients(const AttentionShape& shape, const float* sinks, HeadsRef<const float> out,
                    const float* lse, HeadsRef<const float> dout, float* dsinks);

}  // namespace bora::kernels
