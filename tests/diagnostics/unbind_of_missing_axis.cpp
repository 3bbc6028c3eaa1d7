// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Taken apart along an axis that is not there
// WHY: x has embed, not head.
// FIX: unbind<Batch, 3>(x)
// EXPECT-GCC: no matching function for call to .unbind<Head, 3>\(const bora::Named<Batch, Embed>&
// EXPECT-CLANG: 'unbind<Head, 3.*, bora::Named<Batch, Embed>>' is unavailable: the tensor must have the axis
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return unbind<Head, 3>(x); }  // USER
