// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A member that is a struct of parameters without a field list
// WHY: the walk does not enter a struct that is no module.
// FIX: give Pair its own `fields`.
// EXPECT-GCC: struct_without_fields.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<
// EXPECT-CLANG: struct_without_fields.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<
#include "axes.h"
struct Pair {
  Named<Embed> gain, shift;
};
struct Model {
  Pair pair;
  using fields = Fields<&Model::pair>;  // USER
};
