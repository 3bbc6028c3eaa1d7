// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A mean over an axis that was renamed
// WHY: the keys have no axis `position` any more.
// FIX: mean<KeyPos>(keys).
// EXPECT-GCC: mean<Pos>\(bora::Named<Batch, KeyPos, Embed>&
// EXPECT-CLANG: 'mean<Pos, bora::Named<Batch, KeyPos, Embed>>' is unavailable: the tensor must have the axes that it is reduced over
#include "axes.h"
auto wrong(const Named<Batch, Pos, Embed>& x) {
  auto keys = rename<Pos, KeyPos>(x);
  return mean<Pos>(keys);  // USER
}
