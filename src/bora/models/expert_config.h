// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What families with a mixture of experts are configured by.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "bora/models/decoder_config.h"
#include "bora/nn/experts.h"

namespace bora::models {

/// Keys of experts and of the losses of their routers. Names and defaults are Levanter's; those of the
/// auxiliary loss over all layers, which it has not, are Hugging Face's.
struct ExpertConfig : DecoderConfig {
  std::int64_t n_routed_experts = 8, num_experts_per_tok = 2;
  std::optional<double> lbl_coef = 0.01, rzl_coef = 0.001;
  bool output_router_logits = false;  ///< router_aux_loss_coef counts
  double router_aux_loss_coef = 0.001;
  bool tie_word_embeddings = false;

  nn::RouterLosses router_losses() const {
    return {.load_balance = lbl_coef,
            .z_loss = rzl_coef,
            .auxiliary = output_router_logits ? std::optional(router_aux_loss_coef) : std::nullopt};
  }
  /// decoder_shape() with so many layers of experts.
  nn::ModelShape expert_shape(std::string_view type, std::int64_t vocab, std::int64_t layers) const {
    auto out = decoder_shape(type, vocab, tie_word_embeddings);
    out.expert_visits = layers * num_experts_per_tok;
    return out;
  }
  /// Parameters of a layer's experts and their router, each expert of width `mlp`.
  template <class N>
  N count_experts(std::int64_t mlp) const {
    return N(n_routed_experts) * N(hidden_dim) * (3 * N(mlp) + 1);
  }

 protected:
  ExpertConfig() = default;
  /// The keys above, those of a DecoderConfig, of which head_dim is derived, and no biases.
  void bind_experts(Binder& b);
  /// The keys above alone.
  void bind_mixture(Binder& b);
  /// From config.json, where the number of experts is `experts`, of num_experts and num_local_experts, or the other one:
  /// with no router loss but Hugging Face's.
  template <class Config>
  static Config experts_from_hf(Json json, std::string_view name, std::string_view experts);
  /// And back, in both spellings.
  template <class Config>
  static Json experts_to_hf(Config config, std::string_view architecture, std::string_view experts,
                            std::int64_t vocab_size);

 private:
  /// `experts` must live as long as the names.
  static KeyNames expert_hf_names(std::string_view experts);
  static Json with_count(Json json, std::string_view experts, std::string_view name);
};

template <class Config>
Config ExpertConfig::experts_from_hf(Json json, std::string_view name, std::string_view experts) {
  Config config;
  config.lbl_coef.reset();
  config.rzl_coef.reset();
  return decoder_from_hf(std::move(config),
                         with_count(with_hf_defaults<Config>(std::move(json)), experts, name),
                         expert_hf_names(experts), name);
}

template <class Config>
Json ExpertConfig::experts_to_hf(Config config, std::string_view architecture, std::string_view experts,
                                 std::int64_t vocab_size) {
  Json json = {{"architectures", {architecture}}, {"vocab_size", vocab_size}, {"torch_dtype", "float32"}};
  json.update(write_json(config, expert_hf_names(experts)));
  for (const char* key : {"rope", "gradient_checkpointing", "lbl_coef", "rzl_coef"}) json.erase(key);
  json["num_local_experts"] = config.n_routed_experts;
  config.rope.to_hf(json);
  json.update(config.hf_fixed());
  return json;
}

}  // namespace bora::models
