// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A forgotten rename
// WHY: queries and keys share the axis position, so each query would be scored against the key at its own place only.
//      attention wants the keys' positions under their own name.
// FIX: auto k = rename<Pos, KeyPos>(k_proj(x));
// EXPECT-GCC: attention<Pos, KeyPos, HeadDim>\(const bora::Named<Batch, Pos, Head, HeadDim>&, const bora::Named<Batch, Pos, Head, HeadDim>&
// EXPECT-GCC: satisfaction of .HasAxes<K, KeyPos, HeadDim>. .with K = bora::Named<Batch, Pos, Head, HeadDim>
// EXPECT-CLANG: 'attention<Pos, KeyPos, HeadDim, bora::Named<Batch, Pos, Head, HeadDim>, .*is unavailable: .*no axis that q lacks; rename<Pos, KeyPos>\(k\)
#include "axes.h"
auto wrong(const Named<Batch, Pos, Head, HeadDim>& q, const Named<Batch, Pos, Head, HeadDim>& k) {
  return nn::attention<Pos, KeyPos, HeadDim>(q, k, k, nn::Context{});  // USER
}
