// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Rotary embedding before the heads are apart
// WHY: the angles are of positions and head_dim; x has embed still.
// FIX: nn::rope<Pos, HeadDim>(q_proj(x), table, context)
// EXPECT-GCC: no matching function for call to .rope<Pos, HeadDim>\(const bora::Named<Batch, Pos, Embed>&
// EXPECT-CLANG: 'rope<Pos, HeadDim, bora::Named<Batch, Pos, Embed>>' is unavailable: .*x must have both axes
#include "axes.h"
#include "bora/nn/rope.h"
auto wrong(const Named<Batch, Pos, Embed>& x, const nn::RopeTable& table, const nn::Context& context) {
  return nn::rope<Pos, HeadDim>(x, table, context);  // USER
}
