// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A block of a stack whose field list forgets a member
// WHY: nothing in mix would be trained, in any layer.
// FIX: using fields = Fields<&Block::norm, &Block::mix>;
// FIRST-LINES: 3
// EXPECT-GCC: forgotten_field_within.cpp:15:.* error: .*ListsEveryMember<Block>
// EXPECT-CLANG: forgotten_field_within.cpp:15:.* error: constraints not satisfied for class template 'Stacked' \[with Block = Block\]
#include "axes.h"
struct Block {
  nn::Linear<Embed, Mlp> norm, mix;
  using fields = Fields<&Block::norm>;
};
struct Model {
  nn::Stacked<Block> layers;
  using fields = Fields<&Model::layers>;
};
