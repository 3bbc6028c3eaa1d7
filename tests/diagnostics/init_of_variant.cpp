// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A new model with a choice of layers
// WHY: nothing says which of them it is; it would stay without parameters.
// FIX: static Table init(const auto& sizes, Key key)
// EXPECT-GCC: init_makes_no<.*variant<.*is unavailable: init makes Named
// EXPECT-CLANG: init_makes_no<std::variant<.*is unavailable: init makes Named
#include "axes.h"
#include "models.h"
struct Table {
  static constexpr std::string_view kind = "Embedding";
  std::variant<Named<Vocab, Embed>, int> rows;
  using fields = Fields<&Table::rows>;
};
auto wrong(Key key) { return nn::init<Table>(key, Dim<Vocab>{9}, Dim<Embed>{64}); }  // USER
