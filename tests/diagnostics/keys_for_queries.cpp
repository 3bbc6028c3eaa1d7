// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Attention whose queries are the keys
// WHY: both have the same sizes, and only names tell them apart.
// FIX: attention<Pos, KeyPos, HeadDim>(q, k, v, context).
// EXPECT-GCC: attention<Pos, KeyPos, HeadDim>\(const bora::Named<Batch, KeyPos, HeadDim>&, const bora::Named<Batch, Pos, HeadDim>&
// EXPECT-CLANG: 'attention<Pos, KeyPos, HeadDim, bora::Named<Batch, KeyPos, HeadDim>, bora::Named<Batch, Pos, HeadDim>, .*is unavailable: .*q must have Pos and HeadDim
#include "axes.h"
auto wrong(const Named<Batch, Pos, HeadDim>& q, const Named<Batch, KeyPos, HeadDim>& k) {
  return nn::attention<Pos, KeyPos, HeadDim>(k, q, k, nn::Context{});  // USER
}
