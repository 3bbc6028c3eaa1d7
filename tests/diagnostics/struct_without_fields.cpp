// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A member that is a struct of parameters without a field list
// WHY: the walk does not enter a struct that is no module.
// FIX: give Pair its own `fields`.
// FIRST-LINES: 3
// EXPECT-GCC: struct_without_fields.cpp:15:.* error: .*every_parameter_can_be_walked
// EXPECT-CLANG: struct_without_fields.cpp:15:.* error: constraints not satisfied for class template 'Fields' \[with Members = <&Model::pair>\]
#include "axes.h"
struct Pair {
  Named<Embed> gain, shift;
};
struct Model {
  Pair pair;
  using fields = Fields<&Model::pair>;
};
