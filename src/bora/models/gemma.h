// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Gemma (Gemma Team 2024, arXiv:2403.08295): wide heads that share one key and value, embeddings
// times √width.
#pragma once
#include <cmath>

#include "bora/models/decoder_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::gemma {

/// Levanter's names; by default the model of 2 billion parameters.
struct Config : models::DecoderConfig {
  bool attention_bias = false;

  Config() {
    seq_len = 8192, hidden_dim = 2048, intermediate_dim = 16384;
    num_layers = 18, num_heads = 8, num_kv_heads = 1, head_dim = 256;
  }
  void bind(Binder& b) {
    bind_decoder(b);
    b.field("attention_bias", attention_bias, "biases on query, key, value and output");
    models::bind_fixed(b, "activation_function", "gelu_new");
    models::bind_fixed(b, "tie_word_embeddings", "true");
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  Json hf_fixed() const {
    return {{"model_type", "gemma"},
            {"hidden_act", "gelu_pytorch_tanh"},
            {"hidden_activation", "gelu_pytorch_tanh"},
            {"tie_word_embeddings", true},
            {"use_bidirectional_attention", false}};
  }
  static Json hf_defaults() {
    return {{"hidden_size", 3072},
            {"intermediate_size", 24576},
            {"num_hidden_layers", 28},
            {"num_attention_heads", 16},
            {"num_key_value_heads", 16}};
  }
  static Config from_hf(Json json, std::string_view name) {
    // The first published files name the exact gelu, though the weights were trained with that of tanh.
    if (json.value("hidden_act", Json()) == "gelu") json.erase("hidden_act");
    return models::config_from_hf<Config>(json, name);
  }
  Json to_hf(std::int64_t vocab) const { return models::config_to_hf(*this, "GemmaForCausalLM", vocab); }
  nn::ModelShape shape(std::int64_t vocab) const { return decoder_shape("gemma", vocab, /*tied_head=*/true); }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim);
    const N biases = attention_bias ? count_attention_biases<N>() : N(0);
    return d * vocab + N(num_layers) * (d * (2 * heads + 3 * N(intermediate_dim) + 2) + biases) + d;
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
  nn::RmsNorm<Embed> post_attention_layernorm;
  nn::GatedMlp<Embed, Mlp> mlp;
  using fields =
      Fields<&Block::input_layernorm, &Block::self_attn, &Block::post_attention_layernorm, &Block::mlp>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + self_attn(input_layernorm(x), context);
    return h + mlp(post_attention_layernorm(h));
  }
};

struct Gemma {
  using Config = gemma::Config;
  static constexpr std::string_view kind = "Gemma";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  using fields = Fields<&Gemma::config, &Gemma::embed_tokens, &Gemma::layers, &Gemma::norm>;

  static Gemma init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon, /*offset=*/1); };
    Gemma model;
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
          {.dropout = c.attention_dropout}};
      model.layers.blocks.push_back({norm(), attention, norm(),
                                     nn::GatedMlp<Embed, Mlp>::init(embed, Dim<Mlp>{c.intermediate_dim}, km,
                                                                    std, core::Activation::gelu_tanh)});
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

  nn::ModelShape shape() const { return config.shape(head().size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const { return {"model." + std::string(path)}; }
  Json hf_config() const { return config.to_hf(head().size<Vocab>()); }
};

}  // namespace bora::gemma
