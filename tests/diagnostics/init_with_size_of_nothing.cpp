// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A new model with the size of an axis that it lacks
// WHY: no parameter has the axis vocab: it belongs to another model, or was misspelt.
// FIX: nn::init<Block>(key, Dim<Embed>{64}, Dim<Mlp>{256})
// EXPECT-GCC: Types<.*Dim<Vocab>.*is unavailable: a size is that of no parameter
// EXPECT-CLANG: Types<bora::Dim<Vocab>>>. is unavailable: a size is that of no parameter
#include "axes.h"
#include "models.h"
struct Block {
  nn::Linear<Embed, Mlp> up;
  nn::Linear<Mlp, Embed> down;
  using fields = Fields<&Block::up, &Block::down>;
};
auto wrong(Key key) {
  return nn::init<Block>(key, Dim<Embed>{64}, Dim<Mlp>{256}, Dim<Vocab>{9});  // USER
}
