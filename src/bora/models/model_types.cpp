// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/model_types.h"

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/models/config_checks.h"

namespace bora::models {

Registry<ModelType>& model_types() {
  static Registry<ModelType> types("model type");
  return types;
}

std::unique_ptr<ModelConfig> make_model_config(std::string_view type) {
  const auto* found = model_types().find(type == "qwen" ? "qwen2" : type);
  return found == nullptr ? nullptr : found->config();
}

std::unique_ptr<ModelConfig> model_config_from_hf(const Json& config, std::string_view name) {
  const auto type = json_get<std::string>(config, "model_type", name);
  std::vector<std::string> known;
  for (const auto& each : model_types().names()) {
    const auto* found = model_types().find(each);
    if (found->hf_type == type) {
      require_fixed(config, {{"is_causal", true}}, name);
      return found->from_hf(config, name);
    }
    known.push_back(found->hf_type);
  }
  fail(ErrorKind::Unsupported,
       "{}: model_type {} is not one of {}\nhint: Bora reads models of these types alone", name, type,
       join(known));
}

std::int64_t vocab_size_from_hf(const Json& config, std::string_view name) {
  const auto size = json_get<std::int64_t>(config, "vocab_size", name);
  if (const auto wrong = kSize.problem<std::int64_t>(static_cast<double>(size)))
    fail(ErrorKind::Corruption, "{}: vocab_size = {} {}", name, size, *wrong);
  return size;
}

}  // namespace bora::models
