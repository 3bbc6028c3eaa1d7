// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Cross-entropy of hidden states
// WHY: they have not been projected onto the vocabulary yet.
// FIX: cross_entropy<Vocab>(dot<Embed>(hidden, head), targets)
// EXPECT-GCC: no matching function for call to .cross_entropy<Vocab>\(const bora::Named<Batch, Pos, Embed>&, const bora::Indices<Batch, Pos>&
// EXPECT-CLANG: 'cross_entropy<Vocab, bora::Named<Batch, Pos, Embed>, bora::Indices<Batch, Pos>>' is unavailable: the logits must have the axis Vocab
#include "axes.h"
auto wrong(const Named<Batch, Pos, Embed>& hidden, const Indices<Batch, Pos>& targets) {
  return cross_entropy<Vocab>(hidden, targets);  // USER
}
