// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Mistral 7B (Jiang et al. 2023, arXiv:2310.06825): as Llama, every layer sees a window; in Ministral some do.
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

namespace bora::mistral {

/// Levanter's names and defaults.
struct Config : models::DecoderConfig {
  std::optional<std::int64_t> sliding_window = 4096;
  std::optional<models::LayerTypeNames> layer_types;
  bool tie_word_embeddings = false;

  Config() { seq_len = 8192, intermediate_dim = 14336, num_kv_heads = 8; }
  void bind(Binder& b) {
    bind_decoder(b, {"head_dim"});
    bind_plain_llama(b);
    b.field("sliding_window", sliding_window, kSize,
            "positions that the layers with a window see, or null for all");
    models::bind_layer_types(b, layer_types, num_layers, "all have the window");
    b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  std::int64_t window(std::int64_t layer) const {
    const bool slides = !layer_types || models::slides(*layer_types, layer);
    return slides ? sliding_window.value_or(0) : 0;
  }
  /// With layer_types transformers makes the type ministral of it; without, every layer is alike.
  Json hf_fixed() const {
    Json fixed = {{"model_type", "mistral"}, {"hidden_act", "silu"}};
    for (std::int64_t i = 0; layer_types && i < num_layers; ++i)
      fixed["layer_types"].push_back(window(i) > 0 ? "sliding_attention" : "full_attention");
    return fixed;
  }
  static Json hf_defaults() { return {{"max_position_embeddings", 131072}}; }
  static Config from_hf(const Json& json, std::string_view name) {
    return models::without_usual_types(models::config_from_hf<Config>(json, name));
  }
  Json to_hf(std::int64_t vocab) const {
    auto json = models::config_to_hf(*this, "MistralForCausalLM", vocab);
    if (!layer_types) json.erase("layer_types");
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    return decoder_shape("mistral", vocab, tie_word_embeddings);
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim);
    const N block = d * (2 * heads + 3 * N(intermediate_dim) + 2);
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

struct Mistral {
  using Config = mistral::Config;
  static constexpr std::string_view kind = "Mistral";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields =
      Fields<&Mistral::config, &Mistral::embed_tokens, &Mistral::layers, &Mistral::norm, &Mistral::lm_head>;

  static Mistral init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    Mistral model;
    model.config = c;
    model.embed_tokens = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_tokens"), std);
    model.layers.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, kk, kw, ko, km] = key.fold("layers").fold(std::uint64_t(i)).split<5>();
      const Attention attention{nn::Linear<Embed, Attention::Heads>::init(embed, q, kq, std, false),
                                nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kk, std, false),
                                nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kw, std, false),
                                nn::Linear<Attention::Heads, Embed>::init(q, embed, ko, std, false),
                                rope,
                                {.dropout = c.attention_dropout, .window = c.window(i)}};
      model.layers.blocks.push_back({norm(), attention, norm(),
                                     nn::GatedMlp<Embed, Mlp>::init(embed, Dim<Mlp>{c.intermediate_dim}, km,
                                                                    std, core::Activation::silu)});
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

}  // namespace bora::mistral
