// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Updates added along an axis that is not there
// WHY: the table is named vocab, not feature.
// FIX: scatter_add<Vocab>(table, ids, updates)
// EXPECT-GCC: no matching function for call to .scatter_add<Feature>\(const bora::Named<Vocab, Embed>&, const bora::Indices<Pos>&
// EXPECT-CLANG: 'scatter_add<Feature, bora::Named<Vocab, Embed>, bora::Indices<Pos>, bora::Named<Pos, Embed>>' is unavailable
#include "axes.h"
auto wrong(const Named<Vocab, Embed>& table, const Indices<Pos>& ids, const Named<Pos, Embed>& updates) {
  return scatter_add<Feature>(table, ids, updates);  // USER
}
