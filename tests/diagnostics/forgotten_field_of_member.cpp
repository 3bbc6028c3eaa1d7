// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A block within a model whose field list forgets a member
// WHY: nothing in mix would be trained; the same for a block in a std::vector, array, optional, unique_ptr, variant or map.
// FIX: using fields = Fields<&Block::norm, &Block::mix>;
// EXPECT-GCC: forgotten_field_of_member.cpp:[0-9]+:.* error: .*fields_leave_out<Block, .*Block::mix
// EXPECT-CLANG: forgotten_field_of_member.cpp:[0-9]+:.* error: .*fields_leave_out<Block, .*object\.mix
#include "axes.h"
struct Block {
  nn::Linear<Embed, Mlp> norm, mix;
  using fields = Fields<&Block::norm>;
};
struct Model {
  Named<Embed> shift;
  std::vector<Block> layers;
  using fields = Fields<&Model::shift, &Model::layers>;  // USER
};
