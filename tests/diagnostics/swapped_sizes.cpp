// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Sizes swapped
// WHY: Dim<Embed> and Dim<Mlp> are different types: 512 and 2048 cannot change places.
// FIX: pass them in the order of the axes.
// EXPECT-GCC: could not convert .*Dim<Mlp>|no known conversion|cannot convert .*Dim<Mlp>|conversion from .*Dim<Mlp>|no matching function
// EXPECT-CLANG: no known conversion from 'Dim<Mlp>'|no matching function
#include "axes.h"
auto wrong(Dim<Embed> embed, Dim<Mlp> mlp, Key key) {
  return nn::Linear<Embed, Mlp>::init(mlp, embed, key, 0.02);
}
