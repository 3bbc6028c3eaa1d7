// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Ids compared with numbers
// WHY: predictions are ids only after argmax.
// FIX: equal(argmax<Vocab>(logits), targets)
// EXPECT-GCC: no matching function for call to .equal\(const bora::Named<Batch, Vocab>&, const bora::Indices<Batch>&
// EXPECT-CLANG: 'equal<bora::Named<Batch, Vocab>, bora::Indices<Batch>>' is unavailable: .*ids compare with ids
#include "axes.h"
auto wrong(const Named<Batch, Vocab>& logits, const Indices<Batch>& targets) {
  return equal(logits, targets);  // USER
}
