// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A mean that does not say over what
// WHY: a mean over no axis would be x again.
// FIX: mean<Embed>(x), or mean_all(x)
// EXPECT-GCC: is unavailable: say over which axes: mean<Embed>\(x\); over all of them: mean_all\(x\)
// EXPECT-CLANG: is unavailable: say over which axes: mean<Embed>\(x\); over all of them: mean_all\(x\)
#include "axes.h"
auto wrong(const Named<Batch, Embed>& x) { return mean(x); }  // USER
