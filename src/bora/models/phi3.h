// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Phi-3 and Phi-4-mini (Abdin et al. 2024, arXiv:2404.14219): as Llama, stored with fused weights; longrope.
#pragma once
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/models/config_checks.h"
#include "bora/models/decoder_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::phi3 {

/// By default Phi-3-mini with a context of 4096.
struct Config : models::DecoderConfig {
  std::optional<std::int64_t> sliding_window;
  double partial_rotary_factor = 1, resid_pdrop = 0;
  bool tie_word_embeddings = false;

  Config() {
    seq_len = 4096, hidden_dim = 3072, intermediate_dim = 8192, head_dim = 96, layer_norm_epsilon = 1e-5;
  }
  void bind(Binder& b) {
    bind_decoder(b, {"num_kv_heads", "head_dim"});
    bind_plain_llama(b);
    b.field("sliding_window", sliding_window, kSize, "positions that every layer sees, or null for all");
    b.field("partial_rotary_factor", partial_rotary_factor, {.least = 0, .most = 1, .above = true},
            "this part of each head's dimensions turns with the position, the rest has none");
    b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    b.field("resid_pdrop", resid_pdrop, models::kDropout, "dropout before each residual addition");
    if (b.reading() && (rotary_dim() < 2 || rotary_dim() % 2 != 0))
      b.problem("partial_rotary_factor", fmt::format("times {} = {} is {}, which must be even and above 0",
                                                     b.path("head_dim"), head_dim, rotary_dim()));
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  std::int64_t rotary_dim() const {
    return static_cast<std::int64_t>(double(head_dim) * partial_rotary_factor);
  }
  static Json hf_fixed() {
    return {{"model_type", "phi3"}, {"hidden_act", "silu"}, {"attention_bias", false}};
  }
  /// Older files call longrope su or yarn; newer ones may have the rotary part among rope_parameters alone.
  static Config from_hf(Json json, std::string_view name) {
    Json& original = json["original_max_position_embeddings"];
    if (original.is_null()) original = 4096;
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
      Json rope = json.value(key, Json());
      if (!rope.is_object()) continue;
      const Json inside = rope.value("original_max_position_embeddings", Json());
      if (!inside.is_null() && inside != original)
        fail(
            ErrorKind::Unsupported,
            "{0}: {1}.original_max_position_embeddings is {2}, but transformers takes that beside {1}, {3} (4096 where it "
            "is left out); both must be the same",
            name, key, inside.dump(), original.dump());
      if (rope.contains("partial_rotary_factor")) {
        const Json part = json.value("partial_rotary_factor", Json());
        models::require_agreement("partial_rotary_factor", part, std::string(key) + ".partial_rotary_factor",
                                  rope["partial_rotary_factor"], name);
        json["partial_rotary_factor"] = rope["partial_rotary_factor"];
      }
      for (const char* type : {"type", "rope_type"})
        if (rope.contains(type) && (rope[type] == "su" || rope[type] == "yarn")) rope[type] = "longrope";
      json[key] = std::move(rope);
    }
    return models::config_from_hf<Config>(json, name);
  }
  Json to_hf(std::int64_t vocab) const {
    auto json = models::config_to_hf(*this, "Phi3ForCausalLM", vocab);
    const Json inside = json["rope_parameters"].value("original_max_position_embeddings", Json());
    if (!inside.is_null()) json["original_max_position_embeddings"] = inside;
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const { return decoder_shape("phi3", vocab, tie_word_embeddings); }

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
  double dropout = 0;
  using fields = Fields<&Block::input_layernorm, &Block::self_attn, &Block::post_attention_layernorm,
                        &Block::mlp, &Block::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + nn::dropout(self_attn(input_layernorm(x), context), dropout, context, "attn");
    return h + nn::dropout(mlp(post_attention_layernorm(h)), dropout, context, "mlp");
  }
};

struct Phi3 {
  using Config = phi3::Config;
  static constexpr std::string_view kind = "Phi3";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields = Fields<&Phi3::config, &Phi3::embed_tokens, &Phi3::layers, &Phi3::norm, &Phi3::lm_head>;

  static Phi3 init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.rotary_dim(), c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    Phi3 model;
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
                                {.dropout = c.attention_dropout, .window = c.sliding_window.value_or(0)}};
      model.layers.blocks.push_back({norm(), attention, norm(),
                                     nn::GatedMlp<Embed, Mlp>::init(embed, Dim<Mlp>{c.intermediate_dim}, km,
                                                                    std, core::Activation::silu),
                                     c.resid_pdrop});
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
  /// Queries, keys and values are stored as one tensor, and so are gate and up.
  nn::HfName hf_name(std::string_view path) const {
    return {(path.starts_with("lm_head.") ? "" : "model.") +
            models::renamed(path, {{".q_proj.", ".qkv_proj."},
                                   {".k_proj.", ".qkv_proj."},
                                   {".v_proj.", ".qkv_proj."},
                                   {".gate_proj.", ".gate_up_proj."},
                                   {".up_proj.", ".gate_up_proj."}})};
  }
  Json hf_config() const { return config.to_hf(embed_tokens.weight.size<Vocab>()); }
};

}  // namespace bora::phi3
