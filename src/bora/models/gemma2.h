// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Gemma 2 (Gemma Team 2024, arXiv:2408.00118): local and global layers in turn, norms before and after, soft
// caps.
#pragma once
#include <cmath>

#include "bora/models/decoder_config.h"
#include "bora/models/layer_types.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::gemma2 {

/// Levanter's names; by default the model of 2 billion parameters.
struct Config : models::DecoderConfig {
  bool attention_bias = false;
  std::int64_t sliding_window = 4096;
  std::optional<models::LayerTypeNames> layer_types;
  double query_pre_attn_scalar = 256;
  std::optional<double> attn_logit_softcapping = 50, final_logit_softcapping = 30;

  Config() {
    seq_len = 8192, hidden_dim = 2304, intermediate_dim = 9216;
    num_layers = 26, num_heads = 8, num_kv_heads = 4, head_dim = 256;
  }
  void bind(Binder& b) {
    bind_decoder(b);
    b.field("sliding_window", sliding_window, kSize, "positions that the local layers see");
    models::bind_layer_types(b, layer_types, num_layers, "layers 0, 2, ... are local");
    if (b.reading() && !b.present("query_pre_attn_scalar")) query_pre_attn_scalar = double(head_dim);
    b.field("query_pre_attn_scalar", query_pre_attn_scalar, kPositive,
            "attention scores are divided by its square root; default head_dim");
    b.field("attn_logit_softcapping", attn_logit_softcapping, kPositive, "bound of attention scores or null");
    b.field("final_logit_softcapping", final_logit_softcapping, kPositive, "bound of logits or null");
    b.field("attention_bias", attention_bias, "biases on query, key, value and output");
    models::bind_fixed(b, "activation_function", "gelu_new");
    models::bind_fixed(b, "tie_word_embeddings", "true");
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  std::int64_t window(std::int64_t layer) const {
    return (layer_types ? models::slides(*layer_types, layer) : layer % 2 == 0) ? sliding_window : 0;
  }
  Json hf_fixed() const {
    Json fixed = {
        {"model_type", "gemma2"}, {"hidden_activation", "gelu_pytorch_tanh"}, {"tie_word_embeddings", true}};
    for (std::int64_t i = 0; i < num_layers; ++i)
      fixed["layer_types"].push_back(window(i) > 0 ? "sliding_attention" : "full_attention");
    return fixed;
  }
  static Json hf_defaults() { return {{"query_pre_attn_scalar", 256}}; }
  static Config from_hf(const Json& json, std::string_view name) {
    return models::without_usual_types(models::config_from_hf<Config>(json, name));
  }
  Json to_hf(std::int64_t vocab) const { return models::config_to_hf(*this, "Gemma2ForCausalLM", vocab); }
  nn::ModelShape shape(std::int64_t vocab) const {
    auto out = decoder_shape("gemma2", vocab, /*tied_head=*/true);
    if (attn_logit_softcapping) out.scores_on_device = 1.4;  // what the cap is of, too
    return out;
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim);
    const N biases = attention_bias ? count_attention_biases<N>() : N(0);
    return d * vocab + N(num_layers) * (d * (2 * heads + 3 * N(intermediate_dim) + 4) + biases) + d;
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
  nn::RopeTable rope_table;
  nn::AttentionOptions options;
  using fields = Fields<&Attention::q_proj, &Attention::k_proj, &Attention::v_proj, &Attention::o_proj,
                        &Attention::rope_table, &Attention::options>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto q = nn::rope<Pos, HeadDim>(q_proj(x), rope_table, context);
    auto k = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(k_proj(x), rope_table, context));
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

struct Gemma2 {
  using Config = gemma2::Config;
  static constexpr std::string_view kind = "Gemma2";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  using fields = Fields<&Gemma2::config, &Gemma2::embed_tokens, &Gemma2::layers, &Gemma2::norm>;

  static Gemma2 init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon, /*offset=*/1); };
    Gemma2 model;
    model.config = c;
    model.embed_tokens = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_tokens"), std);
    model.layers.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, kk, kw, ko, km] = key.fold("layers").fold(std::uint64_t(i)).split<5>();
      const Attention attention{
          nn::Linear<Embed, Attention::Heads>::init(embed, q, kq, std, c.attention_bias),
          nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kk, std, c.attention_bias),
          nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kw, std, c.attention_bias),
          nn::Linear<Attention::Heads, Embed>::init(q, embed, ko, std, c.attention_bias),
          rope,
          {.scale = 1 / std::sqrt(c.query_pre_attn_scalar),
           .dropout = c.attention_dropout,
           .soft_cap = c.attn_logit_softcapping.value_or(0),
           .window = c.window(i)}};
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

}  // namespace bora::gemma2
