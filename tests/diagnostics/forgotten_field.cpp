// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A module whose field list forgets a member
// WHY: the bias would never be trained, saved or counted.
// FIX: using fields = Fields<&Layer::weight, &Layer::bias>;
// FIRST-LINES: 3
// EXPECT-GCC: forgotten_field.cpp:15:.* error: .*fields_must_name_every_data_member_of.*M = Layer
// EXPECT-CLANG: forgotten_field.cpp:15:.* error: `fields` must name every data member of the module
#include "axes.h"
struct Layer {
  Named<Mlp, Embed> weight;
  Named<Mlp> bias;
  using fields = Fields<&Layer::weight>;
};
auto wrong(Layer& layer) { return parameters(layer); }
