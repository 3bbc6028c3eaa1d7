// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "bora/base/json.h"

namespace bora::whisper {

/// Hugging Face's names and defaults.
struct Config {
  std::int64_t vocab_size = 51865, num_mel_bins = 80, d_model = 384;
  std::int64_t encoder_layers = 4, encoder_attention_heads = 6, encoder_ffn_dim = 1536;
  std::int64_t decoder_layers = 4, decoder_attention_heads = 6, decoder_ffn_dim = 1536;
  std::int64_t max_source_positions = 1500;  ///< of the encoder: half as many as frames of features
  std::int64_t max_target_positions = 448;
  std::string activation_function = "gelu";
  double init_std = 0.02;
  Json other;  ///< config.json as it was read: keys that are not the model's own stay what they are

  std::int64_t frames() const { return 2 * max_source_positions; }
  /// Errors, with the file `name` and the key: Corruption for values that cannot be, Unsupported for scaled
  /// embeddings and a head of its own.
  static Config from_hf(const Json& config, std::string_view name);
  Json to_hf() const;
};

}  // namespace bora::whisper
