// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The text model of Gemma 3 (Gemma Team 2025, arXiv:2503.19786): five local layers for each global one, with
// a rotary base of their own, and norms of queries and keys.
#pragma once
#include <cmath>

#include "bora/base/error.h"
#include "bora/models/decoder_config.h"
#include "bora/models/layer_types.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::gemma3 {

/// Levanter's names; by default the model of 1 billion parameters. `rope` is that of the global layers.
struct Config : models::DecoderConfig {
  static constexpr std::string_view kHfType = "gemma3_text";
  bool attention_bias = false;
  std::int64_t sliding_window = 512;
  models::LayerTypes layer_types{.pattern = 6};
  double query_pre_attn_scalar = 256, rope_local_base_freq = 10000;
  std::optional<double> final_logit_softcapping;

  Config() {
    seq_len = 32768, hidden_dim = 1152, intermediate_dim = 6912;
    num_layers = 26, num_heads = 4, num_kv_heads = 1, head_dim = 256;
    rope.theta = 1e6;
  }
  void bind(Binder& b) {
    bind_decoder(b);
    b.field("sliding_window", sliding_window, kSize, "positions that the local layers see");
    layer_types.bind(b, num_layers);
    b.field("rope_local_base_freq", rope_local_base_freq, kPositive,
            "base of the wavelengths in the local layers; rope is that of the others");
    if (b.reading() && !b.present("query_pre_attn_scalar")) query_pre_attn_scalar = double(head_dim);
    b.field("query_pre_attn_scalar", query_pre_attn_scalar, kPositive,
            "attention scores are divided by its square root; default head_dim");
    b.field("final_logit_softcapping", final_logit_softcapping, kPositive, "bound of logits or null");
    b.field("attention_bias", attention_bias, "biases on query, key, value and output");
    models::bind_fixed(b, "activation_function", "gelu_new");
    models::bind_fixed(b, "tie_word_embeddings", "true");
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  nn::RopeConfig local_rope() const {
    nn::RopeConfig local;
    local.theta = rope_local_base_freq;
    return local;
  }
  Json hf_fixed() const {
    return {{"model_type", kHfType},
            {"hidden_activation", "gelu_pytorch_tanh"},
            {"tie_word_embeddings", true},
            {"use_bidirectional_attention", false},
            {"attn_logit_softcapping", nullptr}};
  }
  static Json hf_defaults() {
    return {{"hidden_size", 2304},         {"intermediate_size", 9216},         {"num_attention_heads", 8},
            {"num_key_value_heads", 4},    {"max_position_embeddings", 131072}, {"sliding_window", 4096},
            {"query_pre_attn_scalar", 256}};
  }
  static Config from_hf(const Json& json, std::string_view name) {
    auto config = models::config_from_hf<Config>(nn::rope_of_layers(json, "full_attention", name, 1e6), name);
    if (nn::rope_by_layers(json)) {
      const auto rope = nn::RopeConfig::from_hf(nn::rope_of_layers(json, "sliding_attention", name), name);
      models::require_fixed({{"rope_type of sliding_attention", rope.type}},
                            {{"rope_type of sliding_attention", "default"}}, name);
      config.rope_local_base_freq = rope.theta;
      models::require_values(
          config, {{"rope_local_base_freq", "rope_parameters.sliding_attention.rope_theta"}}, name);
    }
    return config;
  }
  Json to_hf(std::int64_t vocab) const {
    auto json = models::config_to_hf(*this, "Gemma3ForCausalLM", vocab);
    json["layer_types"] = layer_types.names(num_layers);
    const Json full = json["rope_parameters"];
    json["rope_parameters"] = {
        {"full_attention", full},
        {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", rope_local_base_freq}}}};
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    return decoder_shape("gemma3", vocab, /*tied_head=*/true);
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim);
    const N biases = attention_bias ? count_attention_biases<N>() : N(0);
    const N block = d * (2 * heads + 3 * N(intermediate_dim) + 4) + 2 * N(head_dim) + biases;
    return d * vocab + N(num_layers) * block + d;
  }
  std::int64_t parameter_count(std::int64_t vocab) const {
    models::require_countable(count(double(vocab)), vocab, hidden_dim);
    return count(vocab);
  }
};

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct KvHead : axis<"kv_head"> {};
struct Group : axis<"q_heads_per_group"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Hidden = Named<Batch, Pos, Embed>;

struct Attention {
  static constexpr std::string_view kind = "Attention";
  using Heads = Axes<KvHead, Group, HeadDim>;
  using KvHeads = Axes<KvHead, HeadDim>;
  nn::Linear<Embed, Heads> q_proj;
  nn::Linear<Embed, KvHeads> k_proj, v_proj;
  nn::Linear<Heads, Embed> o_proj;
  nn::RmsNorm<HeadDim> q_norm, k_norm;
  nn::RopeTable rope_table;
  nn::AttentionOptions options;
  using fields = Fields<&Attention::q_proj, &Attention::k_proj, &Attention::v_proj, &Attention::o_proj,
                        &Attention::q_norm, &Attention::k_norm, &Attention::rope_table, &Attention::options>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto q = nn::rope<Pos, HeadDim>(q_norm(q_proj(x)), rope_table, context);
    auto k = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(k_norm(k_proj(x)), rope_table, context));
    auto v = rename<Pos, KeyPos>(v_proj(x));
    return o_proj(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, options));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::RmsNorm<Embed> input_layernorm;
  Attention self_attn;
  nn::RmsNorm<Embed> post_attention_layernorm, pre_feedforward_layernorm;
  nn::GatedMlp<Embed, Mlp> mlp;
  nn::RmsNorm<Embed> post_feedforward_layernorm;
  using fields = Fields<&Block::input_layernorm, &Block::self_attn, &Block::post_attention_layernorm,
                        &Block::pre_feedforward_layernorm, &Block::mlp, &Block::post_feedforward_layernorm>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + post_attention_layernorm(self_attn(input_layernorm(x), context));
    return h + post_feedforward_layernorm(mlp(pre_feedforward_layernorm(h)));
  }
};

struct Gemma3 {
  using Config = gemma3::Config;
  static constexpr std::string_view kind = "Gemma3";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  using fields = Fields<&Gemma3::config, &Gemma3::embed_tokens, &Gemma3::layers, &Gemma3::norm>;

  static Gemma3 init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto full = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len),
               local = nn::RopeTable::make(c.local_rope(), c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon, /*offset=*/1); };
    const auto head_norm = [&] {
      return nn::RmsNorm<HeadDim>::init(head_dim, c.layer_norm_epsilon, /*offset=*/1);
    };
    Gemma3 model;
    model.config = c;
    model.embed_tokens = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_tokens"), std);
    model.layers.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const bool slides = c.layer_types.slides(i);
      const auto [kq, kk, kw, ko, km] = key.fold("layers").fold(std::uint64_t(i)).split<5>();
      const Attention attention{
          nn::Linear<Embed, Attention::Heads>::init(embed, q, kq, std, c.attention_bias),
          nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kk, std, c.attention_bias),
          nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kw, std, c.attention_bias),
          nn::Linear<Attention::Heads, Embed>::init(q, embed, ko, std, c.attention_bias),
          head_norm(),
          head_norm(),
          slides ? local : full,
          {.scale = 1 / std::sqrt(c.query_pre_attn_scalar),
           .dropout = c.attention_dropout,
           .window = slides ? c.sliding_window : 0}};
      model.layers.blocks.push_back({norm(), attention, norm(), norm(),
                                     nn::GatedMlp<Embed, Mlp>::init(embed, Dim<Mlp>{c.intermediate_dim}, km,
                                                                    std, core::Activation::gelu_tanh),
                                     norm()});
    }
    model.norm = norm();
    return model;
  }

  /// Hidden states after the final norm.
  Hidden operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    Hidden x = nn::scaled(embed_tokens(ids), std::sqrt(static_cast<double>(config.hidden_dim)));
    context.observe(0, x.array());
    x = norm(layers(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const { return embed_tokens.weight; }
  core::HeadOptions head_options() const { return {.soft_cap = config.final_logit_softcapping.value_or(0)}; }

  nn::ModelShape shape() const { return config.shape(head().size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const { return {"model." + std::string(path)}; }
  Json hf_config() const { return config.to_hf(head().size<Vocab>()); }
};

}  // namespace bora::gemma3
