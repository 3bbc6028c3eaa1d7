// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A mean over an axis that was renamed
// WHY: the keys have no axis `position` any more.
// FIX: mean<KeyPos>(keys).
// FIRST-LINES-CLANG: 4
// EXPECT-GCC: mean<Pos>\(bora::Named<Batch, KeyPos, Embed>&
// EXPECT-CLANG: Over = <Pos>, X = bora::Named<Batch, KeyPos, Embed>
// EXPECT-CLANG: HasAxes<bora::Named<Batch, KeyPos, Embed>, Pos>
#include "axes.h"
auto wrong(const Named<Batch, Pos, Embed>& x) {
  auto keys = rename<Pos, KeyPos>(x);
  return mean<Pos>(keys);  // USER
}
