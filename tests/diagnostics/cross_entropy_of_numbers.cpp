// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Cross-entropy with targets that are numbers
// WHY: a target is the id of a class.
// FIX: Indices<Batch, Pos> targets
// EXPECT-GCC: no matching function for call to .cross_entropy<Vocab>\(const bora::Named<Batch, Pos, Vocab>&, const bora::Named<Batch, Pos>&
// EXPECT-CLANG: 'cross_entropy<Vocab, bora::Named<Batch, Pos, Vocab>, bora::Named<Batch, Pos>>' is unavailable: the targets must be ids
#include "axes.h"
auto wrong(const Named<Batch, Pos, Vocab>& logits, const Named<Batch, Pos>& targets) {
  return cross_entropy<Vocab>(logits, targets);  // USER
}
