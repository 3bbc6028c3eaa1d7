// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A module that inherits members
// WHY: a list of fields is of the members of one struct.
// FIX: make the base a member: Norms norms;
// EXPECT-GCC: a_module_inherits_from_no_struct<Block>
// EXPECT-CLANG: a_module_inherits_from_no_struct<Block>
#include "axes.h"
struct Norms {
  Named<Embed> before, after;
};
struct Block : Norms {
  Named<Embed> w;
  using fields = Fields<&Block::before, &Block::after, &Block::w>;
};
auto wrong(Block& block) { return parameters(block); }  // USER
