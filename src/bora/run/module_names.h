// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The linear maps of a model under the names that people and files give them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/nn/language_model_interface.h"
#include "bora/unicode/pattern.h"

namespace bora::run {

struct NamedMap {
  std::string path;  ///< "layers.0.attn.q_proj"
  std::string hf;    ///< "model.layers.0.self_attn.q_proj"
  bool head = false;
  std::optional<nn::LoraShape> adapter;
};
std::vector<NamedMap> named_maps(nn::LanguageModel& model);

/// A regular expression that must be all of a name. Config, with `where`, for one that is none.
class NameRegex {
 public:
  NameRegex(const std::string& source, std::string_view where);
  bool matches(const std::string& name) const;

 private:
  Pattern pattern_;
};

bool is_regex(const std::string& source);

/// "q_proj" ends "model.layers.0.self_attn.q_proj", and so does the whole name.
bool ends_name(std::string_view end, std::string_view name);

}  // namespace bora::run
