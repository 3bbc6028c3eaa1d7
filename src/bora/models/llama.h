// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Llama 1, 2 and 3 (Touvron et al. 2023; Grattafiori et al. 2024). The whole model on one page.
#pragma once
#include <optional>
#include <string_view>

#include "bora/base/json.h"
#include "bora/models/llama_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::llama {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct KvHead : axis<"kv_head"> {};
struct Group : axis<"q_heads_per_group"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Ids = Indices<Batch, Pos>;
using Hidden = Named<Batch, Pos, Embed>;

/// x, after the norm if there is one.
inline Hidden normed(const std::optional<nn::RmsNorm<Embed>>& norm, const Hidden& x) {
  return norm ? (*norm)(x) : x;
}

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
    auto [query, key, value] = nn::linears(x, q_proj, k_proj, v_proj);
    auto q = nn::rope<Pos, HeadDim>(query, rope_table, context);
    auto k = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(key, rope_table, context));
    auto v = rename<Pos, KeyPos>(value);
    return o_proj(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, options));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::RmsNorm<Embed> attn_norm;
  Attention attn;
  nn::RmsNorm<Embed> mlp_norm;
  nn::GatedMlp<Embed, Mlp> mlp;
  std::optional<nn::RmsNorm<Embed>> post_attn_norm, post_mlp_norm;  ///< with hybrid_norm
  using fields = Fields<&Block::attn_norm, &Block::attn, &Block::mlp_norm, &Block::mlp,
                        &Block::post_attn_norm, &Block::post_mlp_norm>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + normed(post_attn_norm, attn(attn_norm(x), context));
    return h + normed(post_mlp_norm, mlp(mlp_norm(h)));
  }
};

struct Llama {
  using Config = llama::Config;
  static constexpr std::string_view kind = "Llama";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;              ///< empty where tied
  std::optional<nn::RmsNorm<Embed>> embed_norm;  ///< with input_embedding_norm
  using fields = Fields<&Llama::config, &Llama::embed_tokens, &Llama::layers, &Llama::norm, &Llama::lm_head,
                        &Llama::embed_norm>;

  static Llama init(const Config& config, Dim<Vocab> vocab, Key key);

  /// Hidden states after the final norm.
  Hidden operator()(const Ids& ids, const nn::Context& context) const {
    Hidden x = normed(embed_norm, embed_tokens(ids));
    context.observe(0, x.array());
    x = norm(layers(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const {
    return config.tie_word_embeddings ? embed_tokens.weight : lm_head.weight;
  }

  nn::ModelShape shape() const { return config.shape(embed_tokens.weight.size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const;
  Json hf_config() const { return config.to_hf(embed_tokens.weight.size<Vocab>()); }
};

}  // namespace bora::llama
