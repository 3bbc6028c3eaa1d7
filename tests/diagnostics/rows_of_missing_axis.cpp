// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Rows looked up along an axis that is not there
// WHY: the table is named vocab, not feature.
// FIX: take<Vocab>(table, ids)
// EXPECT-GCC: no matching function for call to .take<Feature>\(const bora::Named<Vocab, Embed>&, const bora::Indices<Pos>&
// EXPECT-CLANG: 'take<Feature, bora::Named<Vocab, Embed>, bora::Indices<Pos>>' is unavailable: .*x must be numbers with the axis
#include "axes.h"
auto wrong(const Named<Vocab, Embed>& table, const Indices<Pos>& ids) {
  return take<Feature>(table, ids);  // USER
}
