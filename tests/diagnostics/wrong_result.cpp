// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A result with other axes than promised
// WHY: the sum over position leaves [batch, embed]; the function promises [batch, position].
// FIX: reduce over the axis that should go.
// EXPECT-GCC: from .Named<Batch, Embed>. to .Named<Batch, Pos>
// EXPECT-CLANG: from returned value of type 'Named<\[...\], Embed>' to function return type 'Named<\[...\], Pos>'
#include "axes.h"
Named<Batch, Pos> wrong(const Named<Batch, Pos, Embed>& x) { return sum<Pos>(x); }  // USER
