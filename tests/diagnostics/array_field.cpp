// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A member that is an array without names
// WHY: the walk enters named tensors; an array would be neither trained nor saved.
// FIX: Named<Mlp, Embed> weight, or buffer<&Layer::weight> where it is a table.
// EXPECT-GCC: array_field.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<
// EXPECT-CLANG: array_field.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<
#include "axes.h"
struct Layer {
  core::Array weight;
  using fields = Fields<&Layer::weight>;  // USER
};
