// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: remat of a function that returns other axes
// WHY: remat returns a tensor of the type that it is given.
// FIX: f maps back: down(up(x))
// EXPECT-GCC: X = Named<Batch, Pos, Embed>.*is unavailable: what runs again must return what it is given
// EXPECT-CLANG: 'remat<bora::Named<Batch, Pos, Embed>, .*' is unavailable: what runs again must return what it is given
#include "axes.h"
#include "models.h"
auto wrong(const nn::Linear<Embed, Mlp>& up, const Hidden& x) {
  return remat([up](const Hidden& h) { return up(h); }, x);  // USER
}
