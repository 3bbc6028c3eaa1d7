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
#include "bora/nn/rope_config.h"

namespace bora::llama {

/// Levanter's names and defaults.
struct Config {
  std::int64_t seq_len = 2048, hidden_dim = 4096, intermediate_dim = 11008, num_layers = 32, num_heads = 32,
               num_kv_heads = 32;
  std::optional<std::int64_t> head_dim;  ///< default hidden_dim / num_heads
  std::string activation_function = "silu";
  double initializer_range = 0.02, layer_norm_epsilon = 1e-5, attention_dropout = 0;
  bool tie_word_embeddings = false;
  bool attention_bias = false;        ///< on query, key, value and output
  bool use_bias = false;              ///< on the MLP
  bool use_layer_norm_weight = true;  ///< norms scale by one if not
  bool hybrid_norm = false;  ///< norms of what attention and the MLP give, beside those of what they get
  bool input_embedding_norm = false;  ///< a norm of the embeddings
  nn::RopeConfig rope;
  nn::RematPolicy gradient_checkpointing;

  std::int64_t head_size() const { return head_dim.value_or(hidden_dim / num_heads); }
  void bind(Binder& b);
  static Config from_hf(const Json& config, std::string_view name);
  /// With options that Hugging Face's Llama does not have it is no config.json but Bora's own.
  Json to_hf(std::int64_t vocab_size) const;
  nn::ModelShape shape(std::int64_t vocab_size) const;
  std::int64_t parameter_count(std::int64_t vocab_size) const;
};

}  // namespace bora::llama
