// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/core/attention_shape.h"

namespace bora::kernels {

/// Softmax attention without materialising [queries, keys]. A query that sees no key gets zeros.
/// `lse` [batch, kv_head, group, queries]: log of the sum of exponentials, for the backward pass.
///
/// Keys may come in blocks, one call each: a block that begins at key b has the rule's offset less b, and its
/// own key segments. With `joins`, out and lse hold the result over the blocks so far, which this one joins.
void attention_forward(const AttentionShape& shape, const AttentionRule& rule, HeadsRef<const float> q,
                       HeadsRef<const float> k, HeadsRef<const float> v, HeadsRef<float> out, float* lse,
                       bool joins = false);

/// Writes (never accumulates) dq, dk, dv. Keys' and values' gradients are summed over the group. For one
/// block of keys, out and lse are those over all blocks; with `joins`, dq is added to.
void attention_backward(const AttentionShape& shape, const AttentionRule& rule, HeadsRef<const float> q,
                        HeadsRef<const float> k, HeadsRef<const float> v, HeadsRef<const float> out,
                        const float* lse, HeadsRef<const float> dout, HeadsRef<float> dq, HeadsRef<float> dk,
                        HeadsRef<float> dv, bool joins = false);

}  // namespace bora::kernels
