// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A block that returns other axes than it is given
// WHY: what one block returns is given to the next; this one ends in mlp.
// FIX: return x + down(up(x))
// EXPECT-GCC: Stacked<.*X = bora::Named<Batch, Pos, Embed>.*is unavailable: a block must return what it is given
// EXPECT-CLANG: 'operator\(\)' is unavailable: a block must return what it is given
#include "axes.h"
#include "models.h"
struct Block {
  nn::Linear<Embed, Mlp> up;
  using fields = Fields<&Block::up>;
  auto operator()(const Hidden& x, const nn::Context&) const { return up(x); }
};
auto wrong(const nn::Stacked<Block>& layers, const Hidden& x) { return layers(x, nn::Context{}); }  // USER
