// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>

#include "bora/models/gpt_config.h"

namespace bora::backpack {

/// By default the model of 170 million parameters. Levanter's own models divide by the number of senses, those of
/// the paper do not.
struct Config : models::GptConfig {
  static constexpr std::string_view kHfType = "backpack-gpt2";
  static constexpr std::int64_t kSenseMlp = 4;  // width of the sense network's block / hidden_dim
  std::int64_t mlp_scale = 4, num_senses = 16, sense_intermediate_scale = 4;
  std::optional<std::int64_t>
      intermediate_dim;  ///< width of the MLPs of the GPT-2; default mlp_scale × hidden_dim
  std::string activation_function = "gelu_new";
  double embed_pdrop = 0, resid_pdrop = 0, attn_pdrop = 0;
  bool scale_attn_by_inverse_layer_idx = false, divide_by_senses = false;

  Config() { seq_len = 1024, hidden_dim = 768, num_layers = num_heads = 12; }
  void bind(Binder& b) {
    bind_gpt(b);
    b.field("mlp_scale", mlp_scale, kSize, "MLP width / hidden_dim");
    b.field("intermediate_dim", intermediate_dim, kSize, "MLP width; default mlp_scale × hidden_dim");
    b.choice("activation_function", activation_function, {"gelu_new", "gelu", "quick_gelu", "relu", "silu"},
             "of the MLPs");
    b.field("num_senses", num_senses, kSize, "sense vectors of each token");
    b.field("sense_intermediate_scale", sense_intermediate_scale, kSize,
            "width of the MLP that makes the senses / hidden_dim");
    b.field("divide_by_senses", divide_by_senses, "the weighted sum is divided by num_senses");
    b.field("scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx,
            "scores of layer i are divided by i + 1");
    b.field("embed_pdrop", embed_pdrop, models::kDropout, "dropout after the embeddings");
    b.field("resid_pdrop", resid_pdrop, models::kDropout, "dropout before each residual addition");
    b.field("attn_pdrop", attn_pdrop, models::kDropout, "dropout of attention probabilities");
    models::bind_fixed(b, "tie_word_embeddings", "true");
    models::bind_fixed(b, "use_bias", "true");
    if (!b.reading()) return;
    if (b.sound({"hidden_dim", "num_senses"}) && hidden_dim % num_senses != 0)
      b.problem("num_senses", fmt::format("must divide {} = {}", b.path("hidden_dim"), hidden_dim));
    if (!intermediate_dim) models::check_width(b, "mlp_scale", mlp_scale, "hidden_dim", hidden_dim);
    models::check_width(b, "sense_intermediate_scale", sense_intermediate_scale, "hidden_dim", hidden_dim);
    models::check_width(b, "num_senses", num_senses, "hidden_dim", hidden_dim);
    models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  std::int64_t mlp_dim() const { return intermediate_dim.value_or(mlp_scale * hidden_dim); }
  static const KeyNames& hf_names() {
    static const KeyNames names = {{"seq_len", "n_positions"},      {"hidden_dim", "n_embd"},
                                   {"num_layers", "n_layer"},       {"num_heads", "n_head"},
                                   {"intermediate_dim", "n_inner"}, {"embed_pdrop", "embd_pdrop"}};
    return names;
  }
  static Json hf_fixed() {
    return {{"model_type", kHfType}, {"tie_word_embeddings", true}, {"scale_attn_weights", true}};
  }
  static Config from_hf(const Json& json, std::string_view name) {
    Json all = {{"n_positions", 512}, {"scale_attn_by_inverse_layer_idx", true}};  // where the file is silent
    for (const char* dropout : {"embd_pdrop", "resid_pdrop", "attn_pdrop"}) all[dropout] = 0.1;
    all.update(json);
    return models::gpt_from_hf<Config>(all, name);
  }
  Json to_hf(std::int64_t vocab) const {
    auto json = models::gpt_to_hf(*this, "BackpackGPT2LMHeadModel", vocab);
    json.erase("mlp_scale");
    json["n_inner"] = mlp_dim();
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    auto out = gpt_shape("backpack", mlp_dim(), vocab, /*tied_head=*/true, attn_pdrop);
    out.learned_positions = true;
    // Of attention by senses its queries, keys and values in parts and what it gives; the network before it.
    const auto network = 2 * (double(kSenseMlp) + double(sense_intermediate_scale)) + 6;
    out.values_outside_layers += double(hidden_dim) * (4 * double(num_senses) + network);
    return out;
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), senses = N(num_senses), wide = N(sense_intermediate_scale) * d;
    const auto mlp = [&](N inner, N out) { return d * inner + inner + inner * out + out; };
    const N block = 4 * d * d + 4 * d + mlp(N(mlp_dim()), d) + 4 * d;
    const N network = 6 * d + mlp(kSenseMlp * d, d) + mlp(wide, senses * d) + 2 * d * d + 2 * d;
    return (vocab + N(seq_len)) * d + N(num_layers) * block + 2 * d + network;
  }
  std::int64_t parameter_count(std::int64_t vocab) const {
    models::require_countable(count(double(vocab)), vocab, hidden_dim);
    return count(vocab);
  }
};

}  // namespace bora::backpack
