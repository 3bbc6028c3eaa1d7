// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The model registry: one line for each architecture.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/nn/language_model.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::app {

/// A model's configuration without its type: what `model:` in a YAML file, or a config.json, says.
class ModelConfig {
 public:
  virtual ~ModelConfig() = default;
  virtual std::string type() const = 0;
  virtual void bind(Binder& b) = 0;
  virtual std::int64_t seq_len() const = 0;
  virtual nn::ModelShape shape(std::int64_t vocab_size) const = 0;
  /// From the shapes; nothing is made.
  virtual std::int64_t parameter_count(std::int64_t vocab_size) const = 0;
  virtual std::unique_ptr<nn::LanguageModel> make(std::int64_t vocab_size, Key key) const = 0;
};

/// Names of the architectures.
std::vector<std::string> model_types();
/// Null for an unknown type.
std::unique_ptr<ModelConfig> make_model_config(std::string_view type);
/// From config.json; Unsupported with the list of types for another model_type.
std::unique_ptr<ModelConfig> model_config_from_hf(const Json& config, std::string_view name);

/// The model of a Hugging Face directory, weights loaded.
std::unique_ptr<nn::LanguageModel> load_model(const std::string& directory);
/// A model's parameters with their Hugging Face names.
std::vector<checkpoint::HfParameter> hf_parameters(nn::LanguageModel& model);

/// Writes config.json, tensors and the tokenizer's files: what Hugging Face loads.
void export_hugging_face(nn::LanguageModel& model, const std::optional<Tokenizer>& tokenizer,
                         const std::string& directory, core::DType dtype = core::DType::f32);

}  // namespace bora::app
