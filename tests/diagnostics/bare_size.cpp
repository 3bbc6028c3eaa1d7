// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A bare integer as a size
// WHY: zeros(512) does not say of which axis.
// FIX: zeros(Dim<Embed>{512})
// EXPECT-GCC: no matching function for call to .zeros
// EXPECT-CLANG: no matching function for call to 'zeros'
#include "axes.h"
Named<Embed> wrong = zeros(512);
