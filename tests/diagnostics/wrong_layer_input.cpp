// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A layer applied to a tensor without its input axis
// WHY: the layer maps embed to mlp; this tensor has no embed.
// FIX: apply it to a tensor that has the axis.
// EXPECT-GCC: no match for call to .\(const bora::nn::Linear<Embed, Mlp>\) \(const bora::Named<Batch, Pos, HeadDim>&
// EXPECT-CLANG: 'operator\(\)' is unavailable: Linear<In, Out>: x must have the axes In
#include "axes.h"
auto wrong(const nn::Linear<Embed, Mlp>& layer, const Named<Batch, Pos, HeadDim>& x) {
  return layer(x);  // USER
}
