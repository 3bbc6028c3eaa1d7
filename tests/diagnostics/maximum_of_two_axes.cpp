// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: The larger of tensors of different axes
// WHY: neither tensor has the axes of the other.
// FIX: broadcast(x, y.dim<Embed>()) first
// EXPECT-GCC: no matching function for call to .maximum\(const bora::Named<Batch>&, const bora::Named<Embed>&
// EXPECT-CLANG: 'maximum<bora::Named<Batch>, bora::Named<Embed>>' is unavailable: the axes of one tensor must lie within the other's
#include "axes.h"
auto wrong(const Named<Batch>& x, const Named<Embed>& y) { return maximum(x, y); }  // USER
