// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A product that does not say over what
// WHY: axes that both have are batched unless they are named.
// FIX: dot<Embed>(x, w)
// EXPECT-GCC: is unavailable: say which axes it sums over
// EXPECT-CLANG: is unavailable: say which axes it sums over
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x, const Named<Mlp, Embed>& w) { return dot(x, w); }  // USER
