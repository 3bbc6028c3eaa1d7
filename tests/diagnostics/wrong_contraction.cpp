// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Contraction over an axis that only one side has
// WHY: the query is scored against the keys over head_dim; these keys have embed instead.
// FIX: contract over an axis that both have.
// FIRST-LINES-CLANG: 7
// EXPECT-GCC: dot<HeadDim>\(const bora::Named<Batch, Pos, HeadDim>&, const bora::Named<Batch, KeyPos, Embed>&
// EXPECT-GCC: satisfaction of .HasAxes<Y, Over ...>. .with Y = bora::Named<Batch, KeyPos, Embed>; Over = .HeadDim
// EXPECT-CLANG: Over = <HeadDim>, X = bora::Named<Batch, Pos, HeadDim>, Y = bora::Named<Batch, KeyPos, Embed>
// EXPECT-CLANG: HasAxes<bora::Named<Batch, KeyPos, Embed>, HeadDim>
#include "axes.h"
auto wrong(const Named<Batch, Pos, HeadDim>& q, const Named<Batch, KeyPos, Embed>& k) {
  return dot<HeadDim>(q, k);  // USER
}
