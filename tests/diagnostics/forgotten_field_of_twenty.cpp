// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A module of twenty members whose field list forgets one
// WHY: it would never be trained, saved or counted.
// FIX: add &Block::w19
// EXPECT-GCC: forgotten_field_of_twenty.cpp:[0-9]+:.* error: .*fields_leave_out<Block, .*Block::w19
// EXPECT-CLANG: fields_leave_out<Block, .*object\.w19.*is unavailable: `fields` must name every data member
#include "axes.h"
struct Block {
  Named<Embed> w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17, w18, w19, w20;
  using fields = Fields<&Block::w1, &Block::w2, &Block::w3, &Block::w4, &Block::w5, &Block::w6, &Block::w7,
                        &Block::w8, &Block::w9, &Block::w10, &Block::w11, &Block::w12, &Block::w13,
                        &Block::w14, &Block::w15, &Block::w16, &Block::w17, &Block::w18, &Block::w20>;
};
auto wrong(Block& block) { return parameters(block); }  // USER
