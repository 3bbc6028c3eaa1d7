// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Rows looked up by numbers that are no ids
// WHY: only Indices name rows.
// FIX: make the ids as Indices<Batch, Pos>.
// FIRST-LINES-CLANG: 4
// EXPECT-GCC: take<Vocab>\(const bora::Named<Vocab, Embed>&, const bora::Named<Batch, Pos>&
// EXPECT-CLANG: no known conversion from 'const Named<Batch, Pos>' to 'std::int64_t'
// EXPECT-CLANG: 'bora::Named<Batch, Pos>' does not satisfy 'IndexTensor'
#include "axes.h"
auto wrong(const Named<Vocab, Embed>& table, const Named<Batch, Pos>& places) {
  return take<Vocab>(table, places);  // USER
}
