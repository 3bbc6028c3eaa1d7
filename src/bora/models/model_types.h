// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The types that `model.type` and the model_type of config.json may name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/base/registry.h"
#include "bora/models/model_config.h"

namespace bora::nn {
class LanguageModel;
}

namespace bora::models {

using MakeModel =
    std::function<std::unique_ptr<nn::LanguageModel>(const ModelConfig&, std::int64_t vocab_size, Key)>;

struct ModelType {
  std::string help;     ///< in a few words: "Llama 1 to 3"
  std::string hf_type;  ///< model_type of its config.json
  /// With default values.
  std::function<std::unique_ptr<ModelConfig>()> config;
  /// Of a config.json with the name of its file. Corruption for values that cannot be.
  std::function<std::unique_ptr<ModelConfig>(const Json&, std::string_view)> from_hf;
  /// With weights drawn by the key. Null in a program that makes none.
  MakeModel make;
};

/// All types that this program has.
Registry<ModelType>& model_types();

/// Null for an unknown type. Levanter's qwen is qwen2 here, as in config.json.
std::unique_ptr<ModelConfig> make_model_config(std::string_view type);
/// From config.json; Unsupported with the list of types for another model_type.
std::unique_ptr<ModelConfig> model_config_from_hf(const Json& config, std::string_view name);
/// vocab_size of config.json; Corruption if it is no size.
std::int64_t vocab_size_from_hf(const Json& config, std::string_view name);

/// Adds a type by its configuration. Without `make`, for a program that reads configurations and loads no
/// tensor library: add_model.h adds types with it. Config::kHfType is the model_type of its config.json;
/// without one it is the name.
template <class Config>
void add_type(std::string name, std::string help = {}, MakeModel make = {}) {
  ModelType type{.help = std::move(help), .hf_type = name, .make = std::move(make)};
  if constexpr (requires { Config::kHfType; }) type.hf_type = Config::kHfType;
  type.config = [name] { return std::make_unique<ModelConfigOf<Config>>(name); };
  type.from_hf = [name](const Json& json, std::string_view file) {
    return std::make_unique<ModelConfigOf<Config>>(name, Config::from_hf(json, file));
  };
  model_types().add(std::move(name), std::move(type));
}

}  // namespace bora::models
