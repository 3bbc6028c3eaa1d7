// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the decoders with layer norms, plain MLPs and as many keys as queries are configured by.
#pragma once
#include <cstdint>
#include <string_view>

#include "bora/base/config_json.h"
#include "bora/models/config_checks.h"
#include "bora/models/decoder_config.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"

namespace bora::models {

/// Sizes and norms, with Levanter's names in YAML. A family's Config derives from it, as gpt_neox.h does, and
/// has a bind() that begins with bind_gpt(), hf_fixed() (see decoder_config.h), hf_names(), what config.json
/// calls the keys, and parameter_count(vocab).
struct GptConfig {
  std::int64_t seq_len = 2048, hidden_dim = 4096, num_layers = 28, num_heads = 16;
  double initializer_range = 0.02, layer_norm_epsilon = 1e-5;
  nn::RematPolicy gradient_checkpointing;

  std::int64_t head_dim() const { return hidden_dim / num_heads; }
  /// The keys above, with their checks, and those of Levanter that mean nothing here.
  void bind_gpt(Binder& b);
  nn::ModelShape gpt_shape(std::string_view type, std::int64_t mlp, std::int64_t vocab_size, bool tied_head,
                           double attention_dropout) const;
};

/// What GPT-2 and GPT-J call sizes in config.json, and what other families do: transformers takes both.
const KeyNames& gpt2_names();

/// A family's Config from config.json. What is absent is of hf_defaults(), or keeps its default. Corruption with every
/// problem.
template <class Config>
Config gpt_from_hf(Json json, std::string_view name) {
  Config config;
  json = with_hf_defaults<Config>(std::move(json));
  for (const char* key : {"activation_function", "hidden_act"})
    if (const auto found = json.find(key); found != json.end() && found->is_string())
      *found = plain_activation(found->get<std::string>());
  require_none(read_json(json, config, Config::hf_names()), name);
  require_values(config, Config::hf_names(), name);
  require_fixed(json, config.hf_fixed(), name);
  return config;
}
/// And back.
template <class Config>
Json gpt_to_hf(Config config, std::string_view architecture, std::int64_t vocab_size) {
  Json json = {{"architectures", {architecture}}, {"vocab_size", vocab_size}, {"torch_dtype", "float32"}};
  json.update(write_json(config, Config::hf_names()));
  json.erase("gradient_checkpointing");
  json.update(config.hf_fixed());
  return json;
}

}  // namespace bora::models
