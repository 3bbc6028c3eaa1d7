// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Cross-entropy over another axis than the targets'
// WHY: the logits without position are [batch, vocab]; the targets are [batch, position].
// FIX: cross_entropy<Vocab>(logits, targets)
// EXPECT-GCC: no matching function for call to .cross_entropy<Pos>
// EXPECT-CLANG: 'cross_entropy<Pos, bora::Named<Batch, Pos, Vocab>, bora::Indices<Batch, Pos>>' is unavailable: the targets must have all axes
#include "axes.h"
auto wrong(const Named<Batch, Pos, Vocab>& logits, const Indices<Batch, Pos>& targets) {
  return cross_entropy<Pos>(logits, targets);  // USER
}
