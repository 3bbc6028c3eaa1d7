// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "bora/base/config.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"

namespace bora::models {

/// What `model:` in a YAML file, or a config.json, says, without its type. Loads no tensor library.
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

/// The configuration of one type: see llama_config.h for what it offers. A type whose blocks are never
/// computed again has no member gradient_checkpointing.
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
  nn::RematPolicy remat() const override {
    if constexpr (requires { config.gradient_checkpointing; })
      return config.gradient_checkpointing;
    else
      return {};
  }
  void set_remat([[maybe_unused]] nn::RematPolicy policy) override {
    if constexpr (requires { config.gradient_checkpointing; }) config.gradient_checkpointing = policy;
  }

  Config config;

 private:
  std::string type_;
};

}  // namespace bora::models
