// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A member whose parameters cannot be reached
// WHY: two models could share what a shared_ptr points at; vector, array, optional, unique_ptr, variant and map<std::string, ...> are walked.
// FIX: std::unique_ptr, std::optional or the module itself; buffer<&Model::up> for what is not to be trained.
// EXPECT-GCC: unwalkable_field.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<
// EXPECT-CLANG: unwalkable_field.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<
#include "axes.h"
struct Model {
  std::shared_ptr<nn::Linear<Embed, Mlp>> up;
  using fields = Fields<&Model::up>;  // USER
};
