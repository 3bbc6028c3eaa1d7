// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A block that takes no context
// WHY: nn::Stacked passes each block the mask, the keys of dropout and the caches.
// FIX: Hidden operator()(const Hidden& x, const nn::Context& context) const
// EXPECT-GCC: is unavailable: a block is called with \(x, context\)
// EXPECT-CLANG: is unavailable: a block is called with \(x, context\)
#include "axes.h"
#include "models.h"
struct Block {
  nn::RmsNorm<Embed> norm;
  using fields = Fields<&Block::norm>;
  Hidden operator()(const Hidden& x) const { return x + norm(x); }
};
auto wrong(const nn::Stacked<Block>& layers, const Hidden& x) { return layers(x, nn::Context{}); }  // USER
