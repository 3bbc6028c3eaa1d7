// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An axis added that is there
// WHY: x is batched already.
// FIX: x as it is, or another axis
// EXPECT-GCC: no matching function for call to .broadcast\(const bora::Named<Batch, Embed>&, bora::Dim<Batch>
// EXPECT-CLANG: 'broadcast<bora::Named<Batch, Embed>, Batch>' is unavailable: x has the axis already
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return broadcast(x, Dim<Batch>{2}); }  // USER
