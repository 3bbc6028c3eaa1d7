// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A new model with a size given twice
// WHY: which of the two is meant?
// FIX: nn::init<Block>(key, Dim<Embed>{64}, Dim<Mlp>{256})
// EXPECT-GCC: Dim<Embed>.*is unavailable: a size is given twice
// EXPECT-CLANG: Dim<Embed>.*is unavailable: a size is given twice
#include "axes.h"
#include "models.h"
struct Block {
  nn::Linear<Embed, Mlp> up;
  nn::Linear<Mlp, Embed> down;
  using fields = Fields<&Block::up, &Block::down>;
};
auto wrong(Key key) {
  return nn::init<Block>(key, Dim<Embed>{64}, Dim<Mlp>{256}, Dim<Embed>{32});  // USER
}
