// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Mixtral (Jiang et al. 2024, arXiv:2401.04088): Mistral with a mixture of experts in place of each MLP.
#pragma once
#include "bora/models/expert_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/experts.h"
#include "bora/nn/language_model.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::mixtral {

/// Levanter's names and defaults.
struct Config : models::ExpertConfig {
  std::optional<std::int64_t> sliding_window = 4096;

  Config() { seq_len = 8192, intermediate_dim = 14336, num_kv_heads = 8; }
  void bind(Binder& b) {
    bind_experts(b);
    b.field("sliding_window", sliding_window, kSize, "positions that every layer sees, or null for all");
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  static Json hf_fixed() {
    return {{"model_type", "mixtral"}, {"hidden_act", "silu"}, {"router_jitter_noise", 0.0}};
  }
  static Json hf_defaults() {
    return {{"max_position_embeddings", 131072}, {"rms_norm_eps", 1e-5}, {"sliding_window", nullptr}};
  }
  static Config from_hf(const Json& json, std::string_view name) {
    return experts_from_hf<Config>(nn::rope_of_layers(json, "", name, 1e6), name, "num_local_experts");
  }
  Json to_hf(std::int64_t vocab) const {
    return experts_to_hf(*this, "MixtralForCausalLM", "num_local_experts", vocab);
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    auto out = expert_shape("mixtral", vocab, num_layers);
    out.mlp *= num_experts_per_tok;  // what a token passes
    return out;
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim);
    const N block = d * (2 * heads + 2) + count_experts<N>(intermediate_dim);
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
struct Expert : axis<"expert"> {};
struct Vocab : axis<"vocab"> {};

using Hidden = Named<Batch, Pos, Embed>;

/// What passes from block to block.
struct Flow {
  Hidden x;
  nn::RouterSums router;
};

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
  nn::Experts<Expert, Embed, Mlp> mlp;
  using fields =
      Fields<&Block::input_layernorm, &Block::self_attn, &Block::post_attention_layernorm, &Block::mlp>;

  Flow operator()(Flow in, const nn::Context& context) const {
    const Hidden h = in.x + self_attn(input_layernorm(in.x), context);
    in.x = h + mlp(post_attention_layernorm(h), context, in.router);
    return in;
  }
};

struct Mixtral {
  using Config = mixtral::Config;
  static constexpr std::string_view kind = "Mixtral";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields =
      Fields<&Mixtral::config, &Mixtral::embed_tokens, &Mixtral::layers, &Mixtral::norm, &Mixtral::lm_head>;

  static Mixtral init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    Mixtral model;
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
      auto experts = decltype(Block::mlp)::init(Dim<Expert>{c.n_routed_experts}, embed,
                                                Dim<Mlp>{c.intermediate_dim}, km, std);
      experts.per_token = c.num_experts_per_tok;
      model.layers.blocks.push_back({norm(), attention, norm(), experts});
    }
    model.norm = norm();
    if (!c.tie_word_embeddings)
      model.lm_head = nn::Linear<Embed, Vocab>::init(embed, vocab, key.fold("lm_head"), std, false);
    return model;
  }

  /// Hidden states after the final norm.
  Hidden operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    return run(ids, context).x;
  }
  Flow run(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    Flow flow{embed_tokens(ids), nn::RouterSums::none(Dim<nn::Candidate>{config.n_routed_experts})};
    context.observe(0, flow.x.array());
    flow = layers(std::move(flow), context);
    flow.x = norm(flow.x);
    context.observe(config.num_layers, flow.x.array());
    return flow;
  }
  const Named<Vocab, Embed>& head() const {
    return config.tie_word_embeddings ? embed_tokens.weight : lm_head.weight;
  }
  nn::Objective objective(const nn::TokenBatch& batch, const nn::Context& context,
                          const nn::LossOptions& options) const {
    const auto flow = run(indices_from_array<Batch, Pos>(batch.ids), context);
    auto out = nn::next_token_objective<Batch, Pos>(flow.x, head(), batch, options);
    nn::add_router_terms(out, flow.router, config.router_losses(), config.num_layers);
    return out;
  }

  nn::ModelShape shape() const { return config.shape(embed_tokens.weight.size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
        {".mlp.gate.", ".block_sparse_moe.gate."},
        {".mlp.experts.gate_proj.", ".block_sparse_moe.experts.{}.w1."},
        {".mlp.experts.up_proj.", ".block_sparse_moe.experts.{}.w3."},
        {".mlp.experts.down_proj.", ".block_sparse_moe.experts.{}.w2."}};
    return {(path.starts_with("lm_head.") ? "" : "model.") + models::renamed(path, renamed)};
  }
  Json hf_config() const { return config.to_hf(embed_tokens.weight.size<Vocab>()); }
};

}  // namespace bora::mixtral
