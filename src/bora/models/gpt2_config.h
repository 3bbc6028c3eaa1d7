// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/base/config.h"
#include "bora/base/json.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"

namespace bora::gpt2 {

/// Levanter's names and defaults.
struct Config {
  std::int64_t seq_len = 1024, hidden_dim = 768, num_layers = 12, num_heads = 12, mlp_scale = 4;
  std::optional<std::int64_t> intermediate_dim;  ///< width of the MLP; default mlp_scale × hidden_dim
  std::string activation_function = "gelu_new";
  double initializer_range = 0.02, layer_norm_epsilon = 1e-5;
  double embed_pdrop = 0, resid_pdrop = 0, attn_pdrop = 0;
  bool scale_attn_weights = true;  ///< scores are divided by sqrt(head size)
  bool scale_attn_by_inverse_layer_idx = false;
  bool use_bias = true;  ///< in linear maps and norms
  bool tie_word_embeddings = true;
  nn::RematPolicy gradient_checkpointing;

  std::int64_t mlp_dim() const { return intermediate_dim.value_or(mlp_scale * hidden_dim); }
  void bind(Binder& b);
  static Config from_hf(const Json& config, std::string_view name);
  Json to_hf(std::int64_t vocab_size) const;
  nn::ModelShape shape(std::int64_t vocab_size) const;
  std::int64_t parameter_count(std::int64_t vocab_size) const;
};

}  // namespace bora::gpt2
