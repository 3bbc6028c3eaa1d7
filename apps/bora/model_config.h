// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Configurations of all architectures, without their types. Loads no tensor library: models.h makes models of
// them.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bora/base/config.h"
#include "bora/base/json.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"

namespace bora::app {

/// What `model:` in a YAML file, or a config.json, says.
class ModelConfig {
 public:
  virtual ~ModelConfig() = default;
  virtual std::string type() const = 0;
  virtual void bind(Binder& b) = 0;
  virtual std::int64_t seq_len() const = 0;
  virtual nn::ModelShape shape(std::int64_t vocab_size) const = 0;
  /// From the shapes; nothing is made.
  virtual std::int64_t parameter_count(std::int64_t vocab_size) const = 0;
  /// Which blocks are computed again in the backward pass.
  virtual nn::RematPolicy remat() const = 0;
  virtual void set_remat(nn::RematPolicy policy) = 0;
};

template <class Config>
class ModelConfigOf final : public ModelConfig {
 public:
  explicit ModelConfigOf(std::string type, Config c = {}) : config(std::move(c)), type_(std::move(type)) {}
  std::string type() const override { return type_; }
  void bind(Binder& b) override { config.bind(b); }
  std::int64_t seq_len() const override { return config.seq_len; }
  nn::ModelShape shape(std::int64_t vocab_size) const override { return config.shape(vocab_size); }
  std::int64_t parameter_count(std::int64_t vocab_size) const override {
    return config.parameter_count(vocab_size);
  }
  nn::RematPolicy remat() const override { return config.gradient_checkpointing; }
  void set_remat(nn::RematPolicy policy) override { config.gradient_checkpointing = policy; }

  Config config;

 private:
  std::string type_;
};

/// Names of the architectures.
std::vector<std::string> model_types();
/// Null for an unknown type.
std::unique_ptr<ModelConfig> make_model_config(std::string_view type);
/// From config.json; Unsupported with the list of types for another model_type.
std::unique_ptr<ModelConfig> model_config_from_hf(const Json& config, std::string_view name);
/// vocab_size of config.json; Corruption if it is no size.
std::int64_t vocab_size_from_hf(const Json& config, std::string_view name);

}  // namespace bora::app
