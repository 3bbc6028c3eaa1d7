// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/whisper_config.h"

#include <utility>
#include <vector>

#include "bora/base/error.h"

namespace bora::whisper {
namespace {

std::vector<std::pair<const char*, std::int64_t Config::*>> sizes() {
  return {{"vocab_size", &Config::vocab_size},
          {"num_mel_bins", &Config::num_mel_bins},
          {"d_model", &Config::d_model},
          {"encoder_layers", &Config::encoder_layers},
          {"encoder_attention_heads", &Config::encoder_attention_heads},
          {"encoder_ffn_dim", &Config::encoder_ffn_dim},
          {"decoder_layers", &Config::decoder_layers},
          {"decoder_attention_heads", &Config::decoder_attention_heads},
          {"decoder_ffn_dim", &Config::decoder_ffn_dim},
          {"max_source_positions", &Config::max_source_positions},
          {"max_target_positions", &Config::max_target_positions}};
}

constexpr std::int64_t kLargest = 1 << 24;

void check_size(std::string_view name, const char* key, std::int64_t value) {
  if (value >= 1 && value <= kLargest) return;
  fail(ErrorKind::Corruption, "{}: {} should be between 1 and {} but is {}", name, key, kLargest, value);
}

void check_heads(std::string_view name, const char* key, std::int64_t heads, std::int64_t width) {
  if (width % heads == 0) return;
  fail(ErrorKind::Corruption, "{}: {} = {} does not divide d_model = {}", name, key, heads, width);
}

void check(const Config& config, std::string_view name) {
  for (const auto& [key, size] : sizes()) check_size(name, key, config.*size);
  check_heads(name, "encoder_attention_heads", config.encoder_attention_heads, config.d_model);
  check_heads(name, "decoder_attention_heads", config.decoder_attention_heads, config.d_model);
  if (config.d_model % 2 != 0 || config.d_model < 4)
    fail(ErrorKind::Corruption, "{}: d_model should be even and 4 or more but is {}", name, config.d_model);
  if (!(config.init_std >= 0))
    fail(ErrorKind::Corruption, "{}: init_std should be 0 or more but is {}", name, config.init_std);
}

void refuse_other(const Json& json, std::string_view name) {
  if (json_get<bool>(json, "scale_embedding", name, false))
    fail(ErrorKind::Unsupported, "{}: scale_embedding = true is not supported", name);
  if (!json_get<bool>(json, "tie_word_embeddings", name, true))
    fail(ErrorKind::Unsupported, "{}: tie_word_embeddings = false is not supported", name);
}

}  // namespace

Config Config::from_hf(const Json& json, std::string_view name) {
  refuse_other(json, name);
  Config config;
  for (const auto& [key, size] : sizes()) config.*size = json_get(json, key, name, config.*size);
  config.activation_function =
      json_get<std::string>(json, "activation_function", name, config.activation_function);
  config.init_std = json_get(json, "init_std", name, config.init_std);
  config.other = json;
  check(config, name);
  return config;
}

Json Config::to_hf() const {
  Json json = other.is_object() ? other : Json::object();
  json["architectures"] = {"WhisperForConditionalGeneration"};
  json["model_type"] = "whisper";
  for (const auto& [key, size] : sizes()) json[key] = this->*size;
  json["activation_function"] = activation_function;
  json["init_std"] = init_std;
  json["is_encoder_decoder"] = true;
  return json;
}

}  // namespace bora::whisper
