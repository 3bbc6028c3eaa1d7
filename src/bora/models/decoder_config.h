// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What most decoder-only families are configured by, so that one more says only what is its own.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "bora/base/config_json.h"
#include "bora/models/config_checks.h"
#include "bora/nn/model_shape.h"
#include "bora/nn/remat_policy.h"
#include "bora/nn/rope_config.h"

namespace bora::models {

/// Sizes, RMS norms, rotary positions: the keys have Levanter's names in YAML, and in config.json those of
/// Hugging Face. A family's Config derives from it, sets its defaults, and has, as gemma2.h does, a bind()
/// that begins with bind_decoder(), hf_fixed() and parameter_count(vocab).
struct DecoderConfig {
  std::int64_t seq_len = 2048, hidden_dim = 4096, intermediate_dim = 11008, num_layers = 32, num_heads = 32,
               num_kv_heads = 32, head_dim = 128;
  double initializer_range = 0.02, layer_norm_epsilon = 1e-6, attention_dropout = 0;
  nn::RopeConfig rope;
  nn::RematPolicy gradient_checkpointing;

  /// The keys above, with their checks, and those of Levanter that mean nothing here. num_kv_heads and
  /// head_dim that are null, or absent and among `derived`, are num_heads and hidden_dim / num_heads.
  void bind_decoder(Binder& b, std::initializer_list<std::string_view> derived = {});
  /// Levanter's options of Llama in which families near it have no choice: silu, no biases or `use_bias`, norms
  /// with a weight, and no further norms.
  static void bind_plain_llama(Binder& b, std::string_view use_bias = "false");
  /// Those on query, key, value and output.
  template <class N>
  N count_attention_biases() const {
    return N(num_heads + 2 * num_kv_heads) * N(head_dim) + N(hidden_dim);
  }
  /// With a gated MLP.
  nn::ModelShape decoder_shape(std::string_view type, std::int64_t vocab_size, bool tied_head) const;

 protected:
  DecoderConfig() = default;
};

/// Heads of which only a part turns with the position, in a type whose heads turn as a whole: Unsupported.
void require_whole_turns(const Json& json, std::string_view name);
/// What config.json calls the keys of a DecoderConfig and its rope.
const KeyNames& decoder_hf_names();

/// `config` with what a config.json says in so many names. Corruption with every problem.
template <class Config>
Config decoder_from_hf(Config config, Json json, const KeyNames& names, std::string_view name) {
  require_none(read_json(json, config, names), name);
  json["max_position_embeddings"] = config.seq_len;  // where it is absent, the family's
  config.rope = nn::RopeConfig::from_hf(json, name);
  config.seq_len = config.rope.longest(config.seq_len);
  require_values(config, names, name);
  require_fixed(json, config.hf_fixed(), name);
  if constexpr (!requires { config.partial_rotary_factor; }) require_whole_turns(json, name);
  return config;
}

/// A family's Config from config.json, where keys that are the family's own have the same names. What is
/// absent is of hf_defaults(), keeps its default, or follows from other keys. Corruption with every problem.
template <class Config>
Config config_from_hf(Json json, std::string_view name) {
  return decoder_from_hf(Config(), with_hf_defaults<Config>(std::move(json)), decoder_hf_names(), name);
}
/// And back.
template <class Config>
Json config_to_hf(Config config, std::string_view architecture, std::int64_t vocab_size) {
  Json json = {{"architectures", {architecture}}, {"vocab_size", vocab_size}, {"torch_dtype", "float32"}};
  json.update(write_json(config, decoder_hf_names()));
  json.erase("rope");  // config.json has it in parts
  json.erase("gradient_checkpointing");
  config.rope.to_hf(json);
  json.update(config.hf_fixed());
  return json;
}

}  // namespace bora::models
