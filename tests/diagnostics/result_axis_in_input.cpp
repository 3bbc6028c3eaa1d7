// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A layer applied to a tensor that has the axis of its result
// WHY: the result would have mlp twice.
// FIX: rename<Mlp, Feature>(x) first, or another axis for the result
// EXPECT-GCC: no match for call to .\(const bora::nn::Linear<Embed, Mlp>\) \(const bora::Named<Batch, Mlp, Embed>&
// EXPECT-CLANG: 'operator\(\)' is unavailable: Linear<In, Out>: x must have the axes In and, beside them, none of Out
#include "axes.h"
auto wrong(const nn::Linear<Embed, Mlp>& layer, const Named<Batch, Mlp, Embed>& x) {
  return layer(x);  // USER
}
