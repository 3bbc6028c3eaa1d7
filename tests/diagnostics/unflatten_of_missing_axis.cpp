// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: An axis taken apart that is not there
// WHY: x has embed, not feature.
// FIX: unflatten<Embed>(x, Dim<Head>{4}, Dim<HeadDim>{16})
// EXPECT-GCC: no matching function for call to .unflatten<Feature>\(const bora::Named<Pos, Embed>&
// EXPECT-CLANG: 'unflatten<Feature, bora::Named<Pos, Embed>, Head, HeadDim>' is unavailable
#include "axes.h"
auto wrong(const Named<Pos, Embed>& x) {
  return unflatten<Feature>(x, Dim<Head>{4}, Dim<HeadDim>{16});  // USER
}
