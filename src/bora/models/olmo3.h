// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// OLMo 3 (OLMo Team 2025): as OLMo 2, norms of queries, keys and what attention and the MLP give, with a window
// on three layers of four.
#pragma once
#include "bora/models/decoder_config.h"
#include "bora/models/layer_types.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::olmo3 {

/// Levanter's names; by default a model of 7 billion parameters. The frequency scaling of `rope` is that of the
/// layers without a window; the others have its base alone.
struct Config : models::DecoderConfig {
  std::int64_t sliding_window = 4096;
  models::LayerTypes layer_types{.pattern = 4};
  bool tie_word_embeddings = false, attention_bias = false;

  Config() {
    seq_len = 8192;
    rope.theta = 500000;
  }
  void bind(Binder& b) {
    bind_decoder(b, {"num_kv_heads", "head_dim"});
    bind_plain_llama(b);
    b.field("sliding_window", sliding_window, kSize, "positions that the layers with a window see");
    layer_types.bind(b, num_layers);
    b.field("attention_bias", attention_bias, "biases on query, key, value and output");
    b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  static Json hf_fixed() { return {{"model_type", "olmo3"}, {"hidden_act", "silu"}}; }
  nn::RopeConfig local_rope() const {
    nn::RopeConfig local;
    local.theta = rope.theta;
    return local;
  }
  static Json hf_defaults() { return {{"max_position_embeddings", 2048}, {"rms_norm_eps", 1e-5}}; }
  static Config from_hf(const Json& json, std::string_view name) {
    const auto full = nn::rope_of_layers(json, "full_attention", name, 500000);
    auto config = models::config_from_hf<Config>(full, name);
    const auto local = nn::rope_of_layers(json, "sliding_attention", name, 500000);
    const auto rope = nn::rope_by_layers(json) ? nn::RopeConfig::from_hf(local, name) : config.local_rope();
    const std::string type = "rope_parameters.sliding_attention.rope_type",
                      theta = "rope_parameters.sliding_attention.rope_theta";
    models::require_fixed({{type, rope.type}, {theta, rope.theta}},
                          {{type, "default"}, {theta, config.rope.theta}}, name);
    return config;
  }
  /// rope_parameters, too: transformers 5 takes 500000 for the base of the layers with a window where it is said
  /// in the older way.
  Json to_hf(std::int64_t vocab) const {
    auto json = models::config_to_hf(*this, "Olmo3ForCausalLM", vocab);
    json["layer_types"] = layer_types.names(num_layers);
    const Json full = json["rope_parameters"];
    json["rope_parameters"] = {{"full_attention", full},
                               {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", rope.theta}}}};
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    return decoder_shape("olmo3", vocab, tie_word_embeddings);
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim);
    const N biases = attention_bias ? count_attention_biases<N>() : N(0);
    const N block = d * (2 * heads + 3 * N(intermediate_dim) + 2) + heads + biases;
    return vocab * d * N(tie_word_embeddings ? 1 : 2) + N(num_layers) * block + d;
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
  nn::RmsNorm<Heads> q_norm;  ///< over all heads together
  nn::RmsNorm<KvHeads> k_norm;
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
  Attention self_attn;
  nn::RmsNorm<Embed> post_attention_layernorm;
  nn::GatedMlp<Embed, Mlp> mlp;
  nn::RmsNorm<Embed> post_feedforward_layernorm;
  using fields = Fields<&Block::self_attn, &Block::post_attention_layernorm, &Block::mlp,
                        &Block::post_feedforward_layernorm>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + post_attention_layernorm(self_attn(x, context));
    return h + post_feedforward_layernorm(mlp(h));
  }
};

struct Olmo3 {
  using Config = olmo3::Config;
  static constexpr std::string_view kind = "Olmo3";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields = Fields<&Olmo3::config, &Olmo3::embed_tokens, &Olmo3::layers, &Olmo3::norm, &Olmo3::lm_head>;

  static Olmo3 init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto full = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len),
               local = nn::RopeTable::make(c.local_rope(), c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    Olmo3 model;
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
          nn::RmsNorm<Attention::Heads>::init(q, c.layer_norm_epsilon),
          nn::RmsNorm<Attention::KvHeads>::init(kv, c.layer_norm_epsilon),
          slides ? local : full,
          {.dropout = c.attention_dropout, .window = slides ? c.sliding_window : 0}};
      model.layers.blocks.push_back({attention, norm(),
                                     nn::GatedMlp<Embed, Mlp>::init(embed, Dim<Mlp>{c.intermediate_dim}, km,
                                                                    std, core::Activation::silu),
                                     norm()});
    }
    model.norm = norm();
    if (!c.tie_word_embeddings)
      model.lm_head = nn::Linear<Embed, Vocab>::init(embed, vocab, key.fold("lm_head"), std, false);
    return model;
  }

  /// Hidden states after the final norm.
  Hidden operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    Hidden x = embed_tokens(ids);
    context.observe(0, x.array());
    x = norm(layers(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const {
    return config.tie_word_embeddings ? embed_tokens.weight : lm_head.weight;
  }

  nn::ModelShape shape() const { return config.shape(embed_tokens.weight.size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    return {(path.starts_with("lm_head.") ? "" : "model.") + std::string(path)};
  }
  Json hf_config() const { return config.to_hf(embed_tokens.weight.size<Vocab>()); }
};

}  // namespace bora::olmo3
