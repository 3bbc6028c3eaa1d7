// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Rows looked up by numbers that are no ids
// WHY: only Indices name rows.
// FIX: make the ids as Indices<Batch, Pos>.
// EXPECT-GCC: take<Vocab>\(const bora::Named<Vocab, Embed>&, const bora::Named<Batch, Pos>&
// EXPECT-CLANG: 'take<Vocab, bora::Named<Vocab, Embed>, bora::Named<Batch, Pos>>' is unavailable: what is looked up must be ids
#include "axes.h"
auto wrong(const Named<Vocab, Embed>& table, const Named<Batch, Pos>& places) {
  return take<Vocab>(table, places);  // USER
}
