// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Recomputation with references
// WHY: the function runs again in the backward pass, when the locals around it are gone. Seen by its type
// where it holds nothing but references and numbers.
// FIX: [factor] instead of [&]: tensors and modules are cheap to copy.
// EXPECT-GCC: when locals are gone: capture by value
// EXPECT-CLANG: when locals are gone: capture by value
#include "axes.h"
#include "models.h"
Hidden wrong(const Named<Embed>& scale, const Hidden& x) {
  auto factor = scale * 2;
  return remat([&](const Hidden& h) { return Hidden(tanh(h * factor)); }, x);  // USER
}
