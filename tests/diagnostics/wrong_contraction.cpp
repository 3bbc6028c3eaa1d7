// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Contraction over an axis that only one side has
// WHY: the query is scored against the keys over head_dim; these keys have embed instead.
// FIX: contract over an axis that both have.
// EXPECT-GCC: dot<HeadDim>\(const bora::Named<Batch, Pos, HeadDim>&, const bora::Named<Batch, KeyPos, Embed>&
// EXPECT-GCC: satisfaction of .HasAxes<Y, Over ...>. .with Y = bora::Named<Batch, KeyPos, Embed>; Over = .HeadDim
// EXPECT-CLANG: 'dot<HeadDim, bora::Named<Batch, Pos, HeadDim>, bora::Named<Batch, KeyPos, Embed>>' is unavailable: both tensors must have the axes summed over
#include "axes.h"
auto wrong(const Named<Batch, Pos, HeadDim>& q, const Named<Batch, KeyPos, Embed>& k) {
  return dot<HeadDim>(q, k);  // USER
}
