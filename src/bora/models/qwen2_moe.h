// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Qwen 1.5 and 2 with experts (Yang et al. 2024, arXiv:2407.10671): beside the experts that a token chooses
// stands one that all tokens pass, through a gate of its own. Some layers may have plain MLPs.
#pragma once
#include <algorithm>
#include <variant>
#include <vector>

#include "bora/models/expert_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/embedding.h"
#include "bora/nn/experts.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::qwen2_moe {

/// By default Qwen 1.5 MoE A2.7B.
struct Config : models::ExpertConfig {
  std::int64_t shared_expert_intermediate_size = 5632, moe_intermediate_size = 1408, decoder_sparse_step = 1;
  std::vector<std::int64_t> mlp_only_layers;
  bool qkv_bias = true, norm_topk_prob = false;

  Config() {
    seq_len = 8192, hidden_dim = 2048, intermediate_dim = 5632, num_layers = 24, num_heads = 16;
    num_kv_heads = 16, n_routed_experts = 60, num_experts_per_tok = 4, rope.theta = 1e6;
  }
  void bind(Binder& b) {
    bind_experts(b);
    b.field("moe_intermediate_size", moe_intermediate_size, kSize, "width of an expert");
    b.field("shared_expert_intermediate_size", shared_expert_intermediate_size, kSize,
            "width of the expert that all tokens pass");
    b.field("qkv_bias", qkv_bias, "biases on queries, keys and values");
    b.field("decoder_sparse_step", decoder_sparse_step, kSize, "every layer of this number has experts");
    b.field("mlp_only_layers", mlp_only_layers, kNonNegative, "layers, from 0, that have none all the same");
    b.field("norm_topk_prob", norm_topk_prob, "whether the weights of a token's experts add up to 1");
    if (!b.reading()) return;
    if (b.sound({"num_layers", "decoder_sparse_step", "mlp_only_layers"}) && sparse_layers() == 0)
      b.problem("mlp_only_layers", "no layer has experts\nhint: type qwen2");
    models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  bool sparse(std::int64_t layer) const {
    return (layer + 1) % decoder_sparse_step == 0 && std::ranges::count(mlp_only_layers, layer) == 0;
  }
  std::int64_t sparse_layers() const {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < num_layers; ++i) n += sparse(i) ? 1 : 0;
    return n;
  }
  static Json hf_fixed() {
    return {{"model_type", "qwen2_moe"}, {"hidden_act", "silu"}, {"use_sliding_window", false}};
  }
  static Json hf_defaults() { return {{"max_position_embeddings", 32768}}; }
  static Config from_hf(const Json& json, std::string_view name) {
    return experts_from_hf<Config>(json, name, "num_experts");
  }
  Json to_hf(std::int64_t vocab) const {
    return experts_to_hf(*this, "Qwen2MoeForCausalLM", "num_experts", vocab);
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    auto out = expert_shape("qwen2_moe", vocab, sparse_layers());
    const auto experts = num_experts_per_tok * moe_intermediate_size + shared_expert_intermediate_size;
    out.mlp = (sparse_layers() * experts + (num_layers - sparse_layers()) * intermediate_dim) / num_layers;
    return out;
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), heads = N(num_heads + num_kv_heads) * N(head_dim), n = N(sparse_layers());
    const N attention = d * (2 * heads + 2) + N(qkv_bias ? (num_heads + 2 * num_kv_heads) * head_dim : 0);
    const N mlps =
        n * (count_experts<N>(moe_intermediate_size) + d * (3 * N(shared_expert_intermediate_size) + 1)) +
        (N(num_layers) - n) * 3 * d * N(intermediate_dim);
    return vocab * d * N(tie_word_embeddings ? 1 : 2) + N(num_layers) * attention + mlps + d;
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
struct One : axis<"one"> {};  ///< of size 1
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

/// The experts that a token chooses, and the one that all pass.
struct SparseMlp {
  static constexpr std::string_view kind = "SparseMlp";
  nn::Experts<Expert, Embed, Mlp> chosen;
  nn::GatedMlp<Embed, Mlp> shared_expert;
  nn::Linear<Embed, One> shared_expert_gate;
  using fields = Fields<&SparseMlp::chosen, &SparseMlp::shared_expert, &SparseMlp::shared_expert_gate>;

  Hidden operator()(const Hidden& x, const nn::Context& context, nn::RouterSums& sums) const {
    return chosen(x, context, sums) + shared_expert(x) * sum<One>(sigmoid(shared_expert_gate(x)));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::RmsNorm<Embed> input_layernorm;
  Attention self_attn;
  nn::RmsNorm<Embed> post_attention_layernorm;
  std::variant<SparseMlp, nn::GatedMlp<Embed, Mlp>> mlp;
  using fields =
      Fields<&Block::input_layernorm, &Block::self_attn, &Block::post_attention_layernorm, &Block::mlp>;

  Flow operator()(Flow in, const nn::Context& context) const {
    const Hidden h = in.x + self_attn(input_layernorm(in.x), context);
    const Hidden y = post_attention_layernorm(h);
    if (const auto* experts = std::get_if<0>(&mlp))
      in.x = h + (*experts)(y, context, in.router);
    else
      in.x = h + std::get<1>(mlp)(y);
    return in;
  }
};

struct Qwen2Moe {
  using Config = qwen2_moe::Config;
  static constexpr std::string_view kind = "Qwen2Moe";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields = Fields<&Qwen2Moe::config, &Qwen2Moe::embed_tokens, &Qwen2Moe::layers, &Qwen2Moe::norm,
                        &Qwen2Moe::lm_head>;

  static Qwen2Moe init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, Dim<Group>{c.num_heads / c.num_kv_heads}, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    const auto mlp = [&](std::int64_t width, Key k) {
      return nn::GatedMlp<Embed, Mlp>::init(embed, Dim<Mlp>{width}, k, std, core::Activation::silu);
    };
    Qwen2Moe model;
    model.config = c;
    model.embed_tokens = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_tokens"), std);
    model.layers.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, kk, kw, ko, km] = key.fold("layers").fold(std::uint64_t(i)).split<5>();
      const Attention attention{nn::Linear<Embed, Attention::Heads>::init(embed, q, kq, std, c.qkv_bias),
                                nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kk, std, c.qkv_bias),
                                nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kw, std, c.qkv_bias),
                                nn::Linear<Attention::Heads, Embed>::init(q, embed, ko, std, false),
                                rope,
                                {.dropout = c.attention_dropout}};
      if (!c.sparse(i)) {
        model.layers.blocks.push_back({norm(), attention, norm(), mlp(c.intermediate_dim, km)});
        continue;
      }
      auto experts = nn::Experts<Expert, Embed, Mlp>::init(Dim<Expert>{c.n_routed_experts}, embed,
                                                           Dim<Mlp>{c.moe_intermediate_size}, km, std);
      experts.per_token = c.num_experts_per_tok;
      experts.renormalize = c.norm_topk_prob;
      model.layers.blocks.push_back(
          {norm(), attention, norm(),
           SparseMlp{experts, mlp(c.shared_expert_intermediate_size, km.fold("shared")),
                     nn::Linear<Embed, One>::init(embed, Dim<One>{1}, km.fold("gate"), std, false)}});
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
    nn::add_router_terms(out, flow.router, config.router_losses(), config.sparse_layers());
    return out;
  }

  nn::ModelShape shape() const { return config.shape(embed_tokens.weight.size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
        {".mlp.chosen.experts.", ".mlp.experts.{}."}, {".mlp.chosen.", ".mlp."}};
    return {(path.starts_with("lm_head.") ? "" : "model.") + models::renamed(path, renamed)};
  }
  Json hf_config() const { return config.to_hf(embed_tokens.weight.size<Vocab>()); }
};

}  // namespace bora::qwen2_moe
