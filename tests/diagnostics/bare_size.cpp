// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A bare integer as a size
// WHY: zeros(512) does not say of which axis.
// FIX: zeros(Dim<Embed>{512})
// EXPECT-GCC: no matching function for call to .zeros\(int\)
// EXPECT-CLANG: 'zeros<int>' is unavailable: a size needs its axis: zeros\(Dim<Embed>\{512\}\)
#include "axes.h"
Named<Embed> wrong = zeros(512);  // USER
