// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A member whose parameters cannot be reached
// WHY: two models could share what a shared_ptr points at; vector, array, optional, unique_ptr, variant and map<std::string, ...> are walked.
// FIX: std::unique_ptr, std::optional or the module itself; buffer<&Model::up> for what is not to be trained.
// FIRST-LINES: 3
// EXPECT-GCC: unwalkable_field.cpp:12:.* error: .*every_parameter_can_be_walked
// EXPECT-CLANG: unwalkable_field.cpp:12:.* error: constraints not satisfied for class template 'Fields' \[with Members = <&Model::up>\]
#include "axes.h"
struct Model {
  std::shared_ptr<nn::Linear<Embed, Mlp>> up;
  using fields = Fields<&Model::up>;
};
