// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Split along an axis that is not there
// WHY: x has embed, not mlp.
// FIX: split<Embed>(x, {2, 2})
// EXPECT-GCC: no matching function for call to .split<Mlp>\(const bora::Named<Batch, Embed>&
// EXPECT-CLANG: 'split<Mlp, bora::Named<Batch, Embed>>' is unavailable: the tensor must have the axis
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return split<Mlp>(x, {2, 2}); }  // USER
