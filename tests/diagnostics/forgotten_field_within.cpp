// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A block of a stack whose field list forgets a member
// WHY: nothing in mix would be trained, in any layer.
// FIX: using fields = Fields<&Block::norm, &Block::mix>;
// EXPECT-GCC: forgotten_field_within.cpp:[0-9]+:.* error: .*every_member.*fields_leave_out<Block, .*Block::mix
// EXPECT-CLANG: forgotten_field_within.cpp:[0-9]+:.* error: .*fields_leave_out<Block, .*object\.mix
#include "axes.h"
struct Block {
  nn::Linear<Embed, Mlp> norm, mix;
  using fields = Fields<&Block::norm>;
};
struct Model {
  nn::Stacked<Block> layers;  // USER
  using fields = Fields<&Model::layers>;
};
