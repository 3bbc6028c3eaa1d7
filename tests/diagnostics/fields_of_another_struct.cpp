// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A list of fields copied from another struct
// WHY: the members that it names are not members of this struct.
// FIX: using fields = Fields<&Block::w>;
// EXPECT-GCC: fields_name_members_of_another_struct<Block>
// EXPECT-CLANG: fields_name_members_of_another_struct<Block>
#include "axes.h"
struct Other {
  Named<Embed> w;
  using fields = Fields<&Other::w>;
};
struct Block {
  Named<Embed> w;
  using fields = Fields<&Other::w>;
};
auto wrong(Block& block) { return parameters(block); }  // USER
