// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A PlainMlp applied to a tensor without its input axis
// WHY: it maps embed to mlp and back; these are logits.
// FIX: apply it to hidden states
// EXPECT-GCC: no match for call to .\(const bora::nn::PlainMlp<Embed, Mlp>\) \(const bora::Named<Batch, Vocab>&
// EXPECT-CLANG: 'operator\(\)' is unavailable: PlainMlp<Embed, Mlp>: x must have the axis Embed
#include "axes.h"
#include "bora/nn/mlp.h"
auto wrong(const nn::PlainMlp<Embed, Mlp>& mlp, const Named<Batch, Vocab>& x) { return mlp(x); }  // USER
