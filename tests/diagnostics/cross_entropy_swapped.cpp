// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Cross-entropy with its arguments swapped
// WHY: the logits come first.
// FIX: cross_entropy<Vocab>(logits, targets)
// EXPECT-GCC: no matching function for call to .cross_entropy<Vocab>\(const bora::Indices<Batch, Pos>&, const bora::Named<Batch, Pos, Vocab>&
// EXPECT-CLANG: 'cross_entropy<Vocab, bora::Indices<Batch, Pos>, bora::Named<Batch, Pos, Vocab>>' is unavailable: the logits come first
#include "axes.h"
auto wrong(const Named<Batch, Pos, Vocab>& logits, const Indices<Batch, Pos>& targets) {
  return cross_entropy<Vocab>(targets, logits);  // USER
}
