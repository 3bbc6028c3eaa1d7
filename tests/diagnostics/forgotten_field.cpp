// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A module whose field list forgets a member
// WHY: the bias would never be trained, saved or counted.
// FIX: using fields = Fields<&Layer::weight, &Layer::bias>;
// EXPECT-GCC: forgotten_field.cpp:[0-9]+:.* error: .*fields_leave_out<Layer, .*Layer::bias
// EXPECT-CLANG: 'parameters<Layer, .*fields_leave_out<Layer, .*object\.bias.*is unavailable: `fields` must name every data member
#include "axes.h"
struct Layer {
  Named<Mlp, Embed> weight;
  Named<Mlp> bias;
  using fields = Fields<&Layer::weight>;
};
auto wrong(Layer& layer) { return parameters(layer); }  // USER
