// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Tensors of different axes concatenated
// WHY: the second has no batch.
// FIX: broadcast(y, x.dim<Batch>()) first
// EXPECT-GCC: no matching function for call to .concatenate<Embed>\(const bora::Named<Batch, Embed>&, const bora::Named<Embed>&
// EXPECT-CLANG: 'concatenate<Embed, bora::Named<Batch, Embed>, bora::Named<Embed>>' is unavailable: all must have the same axes
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x, const Named<Embed>& y) { return concatenate<Embed>(x, y); }  // USER
