// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A choice between tensors of different axes
// WHY: no one has asked for batch x embed.
// FIX: broadcast(x, y.dim<Embed>()) first
// EXPECT-GCC: no matching function for call to .where\(const bora::Named<Batch>&, const bora::Named<Batch>&, const bora::Named<Embed>&
// EXPECT-CLANG: 'where<bora::Named<Batch>, bora::Named<Batch>, bora::Named<Embed>>' is unavailable: where\(mask, x, y\)
#include "axes.h"
auto wrong(const Named<Batch>& mask, const Named<Batch>& x, const Named<Embed>& y) {
  return where(mask, x, y);  // USER
}
