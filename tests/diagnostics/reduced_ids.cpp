// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A mean of ids
// WHY: ids name places; a place in between means nothing.
// FIX: the mean of what the ids stand for: mean<Pos>(embedding(ids))
// EXPECT-GCC: no matching function for call to .mean<Pos>\(const bora::Indices<Batch, Pos>&
// EXPECT-CLANG: 'mean<Pos, bora::Indices<Batch, Pos>>' is unavailable: .*ids cannot be reduced
#include "axes.h"
auto wrong(const Indices<Batch, Pos>& ids) { return mean<Pos>(ids); }  // USER
