// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A new model with a vector of parameters
// WHY: nothing says how many there are; they would stay empty.
// FIX: std::array<Named<Vocab, Embed>, 2> rows;, or a static init of its own
// EXPECT-GCC: init_makes_no<.*vector<.*is unavailable: init makes Named
// EXPECT-CLANG: init_makes_no<std::vector<.*is unavailable: init makes Named
#include "axes.h"
#include "models.h"
struct Table {
  static constexpr std::string_view kind = "Embedding";
  std::vector<Named<Vocab, Embed>> rows;
  using fields = Fields<&Table::rows>;
};
auto wrong(Key key) { return nn::init<Table>(key, Dim<Vocab>{9}, Dim<Embed>{64}); }  // USER
