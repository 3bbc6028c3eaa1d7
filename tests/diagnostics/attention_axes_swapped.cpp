// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Attention with the axes of queries and keys swapped
// WHY: each query would look at queries.
// FIX: attention<Pos, KeyPos, HeadDim>(q, k, v, context).
// EXPECT-GCC: attention<KeyPos, Pos, HeadDim>\(const bora::Named<Batch, Pos, HeadDim>&, const bora::Named<Batch, KeyPos, HeadDim>&
// EXPECT-CLANG: 'attention<KeyPos, Pos, HeadDim, bora::Named<Batch, Pos, HeadDim>, .*is unavailable: .*q must have Pos and HeadDim
#include "axes.h"
auto wrong(const Named<Batch, Pos, HeadDim>& q, const Named<Batch, KeyPos, HeadDim>& k) {
  return nn::attention<KeyPos, Pos, HeadDim>(q, k, k, nn::Context{});  // USER
}
