// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An axis that is not there
// WHY: softmax runs over key_position, but the scores do not have that axis.
// FIX: softmax over an axis of the tensor, or produce scores that have it: dot<HeadDim>(q, k) with k renamed.
// EXPECT-GCC: softmax<KeyPos>\(const bora::Named<Batch, Pos, Embed>&
// EXPECT-GCC: satisfaction of .HasAxes<X, Over ...>. .with X = bora::Named<Batch, Pos, Embed>; Over = .KeyPos
// EXPECT-CLANG: 'softmax<KeyPos, bora::Named<Batch, Pos, Embed>>' is unavailable: the tensor must have the axes that it is taken over
#include "axes.h"
auto wrong(const Named<Batch, Pos, Embed>& x) { return softmax<KeyPos>(x); }  // USER
