// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A LayerNorm over an axis that is not there
// WHY: the norm is over embed; these are logits.
// FIX: apply it to hidden states
// EXPECT-GCC: no match for call to .\(const bora::nn::LayerNorm<Embed>\) \(const bora::Named<Batch, Vocab>&
// EXPECT-CLANG: 'operator\(\)' is unavailable: LayerNorm<Over>: x must have the axis Over
#include "axes.h"
#include "models.h"
auto wrong(const nn::LayerNorm<Embed>& norm, const Named<Batch, Vocab>& x) { return norm(x); }  // USER
