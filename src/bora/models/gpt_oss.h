// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GPT-OSS (OpenAI 2025): experts with biases and a clamped gate, heads that may look at nothing, a window on
// every second layer.
#pragma once
#include "bora/base/error.h"
#include "bora/models/expert_config.h"
#include "bora/models/layer_types.h"
#include "bora/nn/attention.h"
#include "bora/nn/clamped_experts.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::gpt_oss {

/// By default the model of 117 billion parameters, of which a token passes 5.
struct Config : models::ExpertConfig {
  std::int64_t sliding_window = 128;
  models::LayerTypes layer_types{.pattern = 2};

  Config() {
    seq_len = 131072, hidden_dim = 2880, intermediate_dim = 2880, num_layers = 36, num_heads = 64;
    num_kv_heads = 8, head_dim = 64, n_routed_experts = 128, num_experts_per_tok = 4;
    layer_norm_epsilon = 1e-5, router_aux_loss_coef = 0.9;
    rope.type = "yarn", rope.theta = 150000, rope.factor = 32, rope.truncate = false;
    rope.original_max_position_embeddings = 4096;
  }
  void bind(Binder& b) {
    bind_decoder(b);
    bind_plain_llama(b, "true");
    bind_mixture(b);
    b.field("sliding_window", sliding_window, kSize, "positions that the layers with a window see");
    layer_types.bind(b, num_layers);
    if (b.reading()) models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  static Json hf_fixed() {
    return {{"model_type", "gpt_oss"},
            {"hidden_act", "silu"},
            {"attention_bias", true},
            {"swiglu_alpha", 1.702},
            {"swiglu_limit", 7.0}};
  }
  static Config from_hf(const Json& json, std::string_view name) {
    return experts_from_hf<Config>(with_rope(json, name), name, "num_local_experts");
  }
  Json to_hf(std::int64_t vocab) const {
    auto json = experts_to_hf(*this, "GptOssForCausalLM", "num_local_experts", vocab);
    json["layer_types"] = layer_types.names(num_layers);
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    auto out = expert_shape("gpt_oss", vocab, num_layers);
    out.mlp *= num_experts_per_tok;  // what a token passes
    out.scores_on_device = 1;
    return out;
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), e = N(n_routed_experts), mlp = N(intermediate_dim);
    const auto q = N(num_heads) * N(head_dim), kv = N(num_kv_heads) * N(head_dim);
    const N attention = 2 * d * (q + kv) + q + 2 * kv + d + N(num_heads);  // with biases and sinks
    const N biases = e * (2 * mlp + d + 1);
    const N block = attention + 2 * d + count_experts<N>(intermediate_dim) + biases;
    return vocab * d * N(tie_word_embeddings ? 1 : 2) + N(num_layers) * block + d;
  }
  std::int64_t parameter_count(std::int64_t vocab) const {
    models::require_countable(count(double(vocab)), vocab, hidden_dim);
    return count(vocab);
  }

 private:
  /// What transformers takes where a config.json is silent.
  static Json with_rope(Json json, std::string_view name) {
    if (nn::rope_by_layers(json)) return json;
    const auto scaling = json.find("rope_scaling");
    if (json.value("rope_parameters", Json()).is_null() && (scaling == json.end() || scaling->empty())) {
      if (scaling != json.end() && scaling->is_null())
        fail(
            ErrorKind::Unsupported,
            "{}: rope_scaling is null: plain RoPE to transformers 4, yarn to 5\nhint: remove rope_scaling for yarn, "
            "or add \"rope_parameters\": {{\"rope_type\": \"default\"}} for plain",
            name);
      Json standard;
      Config().rope.to_hf(standard);
      json["rope_scaling"] = standard["rope_scaling"];
    }
    return nn::rope_of_layers(json, "", name, Config().rope.theta);
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
  nn::Sinks<KvHead, Group> sinks;
  nn::RopeTable rope_table;
  std::int64_t window = 0;
  double dropout = 0;
  using fields = Fields<&Attention::q_proj, &Attention::k_proj, &Attention::v_proj, &Attention::o_proj,
                        &Attention::sinks, &Attention::rope_table, &Attention::window, &Attention::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto q = nn::rope<Pos, HeadDim>(q_proj(x), rope_table, context);
    auto k = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(k_proj(x), rope_table, context));
    auto v = rename<Pos, KeyPos>(v_proj(x));
    const nn::AttentionOptions options{.dropout = dropout, .window = window, .sinks = sinks.scores.array()};
    return o_proj(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, options));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::RmsNorm<Embed> input_layernorm;
  Attention self_attn;
  nn::RmsNorm<Embed> post_attention_layernorm;
  nn::Experts<Expert, Embed, Mlp, nn::BiasedRouter<Embed>, nn::ClampedExperts<Expert, Embed, Mlp>> mlp;
  using fields =
      Fields<&Block::input_layernorm, &Block::self_attn, &Block::post_attention_layernorm, &Block::mlp>;

  Flow operator()(Flow in, const nn::Context& context) const {
    const Hidden h = in.x + self_attn(input_layernorm(in.x), context);
    in.x = h + mlp(post_attention_layernorm(h), context, in.router);
    return in;
  }
};

struct GptOss {
  using Config = gpt_oss::Config;
  static constexpr std::string_view kind = "GptOss";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Stacked<Block> layers;
  nn::RmsNorm<Embed> norm;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields =
      Fields<&GptOss::config, &GptOss::embed_tokens, &GptOss::layers, &GptOss::norm, &GptOss::lm_head>;

  static GptOss init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<KvHead> kv_head{c.num_kv_heads};
    const Dim<Group> group{c.num_heads / c.num_kv_heads};
    const Dim<HeadDim> head_dim{c.head_dim};
    const nn::SizesOf<Attention::KvHeads> kv{kv_head, head_dim};
    const nn::SizesOf<Attention::Heads> q{kv_head, group, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.head_dim, c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::RmsNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    GptOss model;
    model.config = c;
    model.embed_tokens = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_tokens"), std);
    model.layers.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, kk, kw, ko, ks, km] = key.fold("layers").fold(std::uint64_t(i)).split<6>();
      const Attention attention{nn::Linear<Embed, Attention::Heads>::init(embed, q, kq, std),
                                nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kk, std),
                                nn::Linear<Embed, Attention::KvHeads>::init(embed, kv, kw, std),
                                nn::Linear<Attention::Heads, Embed>::init(q, embed, ko, std),
                                nn::Sinks<KvHead, Group>::init({kv_head, group}, ks, std),
                                rope,
                                c.layer_types.slides(i) ? c.sliding_window : 0,
                                c.attention_dropout};
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
        {".sinks.scores", ".sinks"},
        {".mlp.gate.", ".mlp.router."},
        {".experts.gate_proj.weight", ".experts.gate_up_proj[::2]"},
        {".experts.gate_proj.bias", ".experts.gate_up_proj_bias[::2]"},
        {".experts.up_proj.weight", ".experts.gate_up_proj[1::2]"},
        {".experts.up_proj.bias", ".experts.gate_up_proj_bias[1::2]"},
        {".experts.down_proj.weight", ".experts.down_proj[::1]"},
        {".experts.down_proj.bias", ".experts.down_proj_bias[::1]"}};
    return {(path.starts_with("lm_head.") ? "" : "model.") + models::renamed(path, renamed)};
  }
  Json hf_config() const { return config.to_hf(embed_tokens.weight.size<Vocab>()); }
};

}  // namespace bora::gpt_oss
