// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Cross-entropy with targets of other axes
// WHY: each vector of logits has one target; here positions have none.
// FIX: Indices<Batch, Pos> targets
// EXPECT-GCC: no matching function for call to .cross_entropy<Vocab>\(const bora::Named<Batch, Pos, Vocab>&, const bora::Indices<Batch>&
// EXPECT-CLANG: 'cross_entropy<Vocab, bora::Named<Batch, Pos, Vocab>, bora::Indices<Batch>>' is unavailable: the targets must have all axes of the logits but
#include "axes.h"
auto wrong(const Named<Batch, Pos, Vocab>& logits, const Indices<Batch>& targets) {
  return cross_entropy<Vocab>(logits, targets);  // USER
}
