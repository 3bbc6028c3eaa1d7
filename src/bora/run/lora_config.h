// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The `lora` block of a configuration, with Levanter's keys.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"
#include "bora/nn/lora_shape.h"

namespace bora::run {

/// Linear maps by name, as in Levanter and PEFT. A map is called by its path in the model and by its name in
/// the Hugging Face layout.
struct ModuleChoice {
  /// Names, ends of names ("q_proj") and patterns with * and ? ("layers.0.*"); empty: all but the head.
  std::vector<std::string> names;
  std::optional<std::string> regex;  ///< of a whole name, in the place of `names`
};

struct LoraConfig {
  ModuleChoice target_modules;
  std::vector<std::string> exclude_modules;
  nn::LoraShape shape;
  void bind(Binder& b);
};

}  // namespace bora::run
