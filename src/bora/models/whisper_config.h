// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/base/config.h"
#include "bora/base/json.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"

namespace bora::whisper {

inline constexpr double kEpsilon = 1e-5;  ///< of the layer norms

/// Levanter's names and defaults, which are those of Whisper tiny.
struct Config {
  std::int64_t num_mel_bins = 80, d_model = 384;
  std::int64_t encoder_layers = 4, encoder_attention_heads = 6, encoder_ffn_dim = 1536;
  std::int64_t decoder_layers = 4, decoder_attention_heads = 6, decoder_ffn_dim = 1536;
  std::int64_t max_source_positions = 1500;  ///< of the encoder: half as many as frames of features
  std::int64_t seq_len = 448;                ///< positions of the decoder (max_length)
  std::string activation_function = "gelu";
  double initializer_range = 0.02;
  double dropout = 0, attention_dropout = 0, activation_dropout = 0;
  nn::RematPolicy gradient_checkpointing;
  Json other;  ///< config.json as it was read: keys that are not the model's own stay what they are

  std::int64_t frames() const { return 2 * max_source_positions; }
  void bind(Binder& b);
  /// Errors, with the file `name` and the key: Corruption for values that cannot be, Unsupported for scaled
  /// embeddings and a head of its own.
  static Config from_hf(const Json& config, std::string_view name);
  Json to_hf(std::int64_t vocab_size) const;
  nn::ModelShape shape(std::int64_t vocab_size) const;
  std::int64_t parameter_count(std::int64_t vocab_size) const;
};

}  // namespace bora::whisper
