// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Axes flattened that are not there
// WHY: x has no head.
// FIX: flatten<Axes<Pos, Embed>, Feature>(x)
// EXPECT-GCC: no matching function for call to .flatten<.*Axes<Head, Embed>.*, Feature>\(const bora::Named<Pos, Embed>&
// EXPECT-CLANG: 'flatten<bora::Axes<Head, Embed>, Feature, bora::Named<Pos, Embed>>' is unavailable: .*x must have the axes in Axes
#include "axes.h"
auto wrong(const Named<Pos, Embed>& x) { return flatten<Axes<Head, Embed>, Feature>(x); }  // USER
