// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A field list that names one member twice
// WHY: the weight would be updated twice, and the bias never.
// FIX: using fields = Fields<&Layer::weight, &Layer::bias>;
// EXPECT-GCC: field_twice.cpp:[0-9]+:.* error: .*each_member_is_listed_once
// EXPECT-CLANG: field_twice.cpp:[0-9]+:.* error: constraints not satisfied for class template 'Fields' \[with Members = <{&Layer::weight}, {&Layer::weight}>\]
#include "axes.h"
struct Layer {
  Named<Mlp, Embed> weight;
  Named<Mlp> bias;
  using fields = Fields<&Layer::weight, &Layer::weight>;  // USER
};
