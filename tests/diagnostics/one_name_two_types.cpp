// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: Two axes of one name
// WHY: an axis is a type: embed of another namespace is another axis, though errors call both embed.
// FIX: include one definition of the axis, or rename<other::Embed, Embed>(bias).
// EXPECT-GCC: Y = Named<other::Embed>\].* is unavailable: two axis types have one name
// EXPECT-CLANG: is unavailable: two axis types have one name
#include "axes.h"
namespace other {
struct Embed : axis<"embed"> {};
}  // namespace other
auto wrong(const Named<Batch, Pos, Embed>& x, const Named<other::Embed>& bias) { return x + bias; }  // USER
