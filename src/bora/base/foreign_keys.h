// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

namespace bora {

/// A key of the configuration as people name it who know other programs.
struct ForeignKey {
  std::string_view word;   ///< "lr"
  std::string_view key;    ///< "optimizer.learning_rate"
  std::string_view value;  ///< what the word alone means: "p=f32,c=bf16" of bf16; may be empty
};

/// Null for other words. `word` as it is typed; - counts as _, and case does not.
const ForeignKey* foreign_key(std::string_view word);

}  // namespace bora
