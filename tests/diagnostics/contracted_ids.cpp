// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Token ids contracted
// WHY: a matrix product with ids; only a one-hot encoding of them can be contracted.
// FIX: dot<Vocab>(one_hot(ids, Dim<Vocab>{n}), table), or better embedding(ids).
// EXPECT-GCC: call to .dot<Pos>\(const bora::Indices<Batch, Pos>&
// EXPECT-GCC: NamedTensor<bora::Indices<Batch, Pos> >|NamedTensor
// EXPECT-CLANG: 'dot<Pos, bora::Indices<Batch, Pos>, .*is unavailable: ids are no numbers to multiply with
#include "axes.h"
auto wrong(const Indices<Batch, Pos>& ids, const Named<Pos, Embed>& table) {
  return dot<Pos>(ids, table);  // USER
}
