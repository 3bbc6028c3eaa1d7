// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A member that nobody can look into
// WHY: a class with private members may hold parameters, which would be neither trained nor saved.
// FIX: make it a module, a struct with `fields`; or buffer<&Model::gain> where nothing in it is trained.
// EXPECT-GCC: closed_class.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<Gain>
// EXPECT-CLANG: closed_class.cpp:[0-9]+:.* error: .*parameters_cannot_be_reached_in<Gain>
#include "axes.h"
class Gain {
 public:
  explicit Gain(Named<Embed> value) : value_(std::move(value)) {}

 private:
  Named<Embed> value_;
};
struct Model {
  Gain gain;
  using fields = Fields<&Model::gain>;  // USER
};
