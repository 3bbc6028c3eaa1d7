// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GPT-J (Wang and Komatsuzaki 2021): attention and MLP side by side after one norm, rotary positions of
// neighbouring dimensions, a head with a bias.
#pragma once
#include <fmt/core.h>

#include <optional>
#include <string>

#include "bora/models/gpt_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::gptj {

/// By default the model of 6 billion parameters.
struct Config : models::GptConfig {
  std::optional<std::int64_t> intermediate_dim;  ///< width of the MLP; default 4 × hidden_dim
  std::int64_t rotary_dim = 64;
  std::string activation_function = "gelu_new";
  double embed_pdrop = 0, resid_pdrop = 0, attn_pdrop = 0;

  void bind(Binder& b) {
    bind_gpt(b);
    b.field("intermediate_dim", intermediate_dim, kSize, "width of the MLP; default 4 × hidden_dim");
    b.choice("activation_function", activation_function, {"gelu_new", "gelu", "quick_gelu", "relu", "silu"},
             "of the MLP");
    b.field("rotary_dim", rotary_dim, kSize, "dimensions of each head that are rotated, neighbours together");
    b.field("embed_pdrop", embed_pdrop, models::kDropout, "dropout after the embeddings");
    b.field("resid_pdrop", resid_pdrop, models::kDropout, "dropout before each residual addition");
    b.field("attn_pdrop", attn_pdrop, models::kDropout, "dropout of attention probabilities");
    models::bind_fixed(b, "tie_word_embeddings", "false");
    if (!b.reading()) return;
    if (b.sound({"hidden_dim", "num_heads", "rotary_dim"}) &&
        (rotary_dim % 2 != 0 || rotary_dim > head_dim()))
      b.problem("rotary_dim",
                fmt::format("must be even and at most {} = {}", b.path("head_dim"), head_dim()));
    if (!intermediate_dim && b.sound({"hidden_dim"}) && static_cast<double>(hidden_dim) > kSize.most / 4)
      b.problem("hidden_dim", fmt::format("times 4 must be {}", kSize.words()));
    models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  std::int64_t mlp_dim() const { return intermediate_dim.value_or(4 * hidden_dim); }
  static const KeyNames& hf_names() {
    static const KeyNames names = {{"seq_len", "n_positions"},      {"hidden_dim", "n_embd"},
                                   {"num_layers", "n_layer"},       {"num_heads", "n_head"},
                                   {"intermediate_dim", "n_inner"}, {"embed_pdrop", "embd_pdrop"}};
    return names;
  }
  Json hf_fixed() const { return {{"model_type", "gptj"}, {"tie_word_embeddings", false}}; }
  static Config from_hf(const Json& json, std::string_view name) {
    return models::gpt_from_hf<Config>(models::under_first_names(json, models::gpt2_names(), name), name);
  }
  Json to_hf(std::int64_t vocab) const { return models::gpt_to_hf(*this, "GPTJForCausalLM", vocab); }
  nn::ModelShape shape(std::int64_t vocab) const {
    return gpt_shape("gptj", mlp_dim(), vocab, /*tied_head=*/false, attn_pdrop);
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), m = intermediate_dim ? N(*intermediate_dim) : 4 * d;
    return 2 * d * vocab + vocab + N(num_layers) * (4 * d * d + 2 * d * m + m + d + 2 * d) + 2 * d;
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
struct Head : axis<"heads"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Hidden = Named<Batch, Pos, Embed>;

struct Attention {
  static constexpr std::string_view kind = "Attention";
  using Heads = Axes<Head, HeadDim>;
  nn::Linear<Embed, Heads> q_proj, k_proj, v_proj;
  nn::Linear<Heads, Embed> out_proj;
  nn::RopeTable rope_table;
  double dropout = 0;
  using fields = Fields<&Attention::q_proj, &Attention::k_proj, &Attention::v_proj, &Attention::out_proj,
                        &Attention::rope_table, &Attention::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto q = nn::rope<Pos, HeadDim>(q_proj(x), rope_table, context);
    auto k = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(k_proj(x), rope_table, context));
    auto v = rename<Pos, KeyPos>(v_proj(x));
    return out_proj(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, {.dropout = dropout}));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::LayerNorm<Embed> ln_1;
  Attention attn;
  nn::PlainMlp<Embed, Mlp> mlp;
  double dropout = 0;
  using fields = Fields<&Block::ln_1, &Block::attn, &Block::mlp, &Block::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    const Hidden h = ln_1(x);
    const auto seen = nn::dropout(attn(h, context), dropout, context, "attn");
    return seen + nn::dropout(mlp(h), dropout, context, "mlp") + x;
  }
};

struct GptJ {
  using Config = gptj::Config;
  static constexpr std::string_view kind = "GptJ";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> wte;
  nn::Stacked<Block> h;
  nn::LayerNorm<Embed> ln_f;
  nn::Linear<Embed, Vocab> lm_head;
  using fields = Fields<&GptJ::config, &GptJ::wte, &GptJ::h, &GptJ::ln_f, &GptJ::lm_head>;

  static GptJ init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<Mlp> mlp{c.mlp_dim()};
    const nn::SizesOf<Attention::Heads> heads{Dim<Head>{c.num_heads}, Dim<HeadDim>{c.head_dim()}};
    auto rope = nn::RopeTable::make({}, c.rotary_dim, c.seq_len);
    rope.pairs = core::RopePairs::neighbours;
    const double std = c.initializer_range;
    GptJ model;
    model.config = c;
    model.wte = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("wte"), std);
    model.h.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, kk, kv, ko, ku, km] = key.fold("h").fold(std::uint64_t(i)).split<6>();
      const auto projection = [&](Key k) {
        return nn::Linear<Embed, Attention::Heads>::init(embed, heads, k, std, false);
      };
      const Attention attention{
          projection(kq), projection(kk),
          projection(kv), nn::Linear<Attention::Heads, Embed>::init(heads, embed, ko, std, false),
          rope,           c.attn_pdrop};
      const nn::PlainMlp<Embed, Mlp> plain{nn::Linear<Embed, Mlp>::init(embed, mlp, ku, std),
                                           nn::Linear<Mlp, Embed>::init(mlp, embed, km, std),
                                           nn::parse_activation(c.activation_function)};
      model.h.blocks.push_back(
          {nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon), attention, plain, c.resid_pdrop});
    }
    model.ln_f = nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon);
    model.lm_head = nn::Linear<Embed, Vocab>::init(embed, vocab, key.fold("lm_head"), std);
    return model;
  }

  /// Hidden states after the final norm.
  Hidden operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    Hidden x = nn::dropout(wte(ids), config.embed_pdrop, context, "embed");
    context.observe(0, x.array());
    x = ln_f(h(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  core::HeadOptions head_options() const { return {.bias = lm_head.bias.array()}; }

  nn::ModelShape shape() const { return config.shape(head().size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
        {".mlp.up_proj.", ".mlp.fc_in."}, {".mlp.down_proj.", ".mlp.fc_out."}};
    if (path.starts_with("lm_head.")) return {std::string(path)};
    return {"transformer." + models::renamed(path, renamed)};
  }
  Json hf_config() const { return config.to_hf(head().size<Vocab>()); }
};

}  // namespace bora::gptj
