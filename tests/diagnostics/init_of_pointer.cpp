// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// TITLE: A new model with a layer behind a pointer
// WHY: nothing makes what it points at; it would stay without parameters.
// FIX: nn::Linear<Embed, Vocab> rows; or a static init of its own
// EXPECT-GCC: init_makes_no<.*unique_ptr<.*is unavailable: init makes Named
// EXPECT-CLANG: init_makes_no<std::unique_ptr<.*is unavailable: init makes Named
#include "axes.h"
#include "models.h"
struct Table {
  static constexpr std::string_view kind = "Embedding";
  std::unique_ptr<nn::Linear<Embed, Vocab>> rows;
  using fields = Fields<&Table::rows>;
};
auto wrong(Key key) { return nn::init<Table>(key, Dim<Vocab>{9}, Dim<Embed>{64}); }  // USER
