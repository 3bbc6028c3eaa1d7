// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Stacked along an axis that they have
// WHY: stack makes a new axis; concatenate goes along one that is there.
// FIX: concatenate<Batch>(x, y)
// EXPECT-GCC: no matching function for call to .stack<Batch>\(const bora::Named<Batch, Embed>&, const bora::Named<Batch, Embed>&
// EXPECT-CLANG: 'stack<Batch, bora::Named<Batch, Embed>, bora::Named<Batch, Embed>>' is unavailable: all must have the same axes without the new one
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x, const Named<Batch, Embed>& y) { return stack<Batch>(x, y); }  // USER
