// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A new model without the size of an axis
// WHY: each parameter is as large as its axes, and nothing says how large mlp is.
// FIX: nn::init<Block>(key, Dim<Embed>{64}, Dim<Mlp>{256})
// EXPECT-GCC: Types<.*Dim<Mlp>.*is unavailable: sizes are missing
// EXPECT-CLANG: Types<bora::Dim<Mlp>.*is unavailable: sizes are missing
#include "axes.h"
#include "models.h"
struct Block {
  nn::Linear<Embed, Mlp> up;
  nn::Linear<Mlp, Embed> down;
  using fields = Fields<&Block::up, &Block::down>;
};
auto wrong(Key key) { return nn::init<Block>(key, Dim<Embed>{64}); }  // USER
