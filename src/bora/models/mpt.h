// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// MPT (MosaicML 2023): linear biases of attention (ALiBi) in place of positions, no biases elsewhere.
#pragma once
#include <fmt/core.h>

#include <optional>
#include <string>

#include "bora/core/create.h"
#include "bora/models/gpt_config.h"
#include "bora/nn/alibi.h"
#include "bora/nn/attention.h"
#include "bora/nn/clip.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

namespace bora::mpt {

/// By default the model of 7 billion parameters.
struct Config : models::GptConfig {
  static constexpr std::int64_t kBiasMax = 8;
  std::optional<double> clip_qkv, softmax_scale;
  double attn_pdrop = 0;

  Config() { num_layers = 32, num_heads = 32; }
  void bind(Binder& b) {
    bind_gpt(b);
    b.field("clip_qkv", clip_qkv, kPositive, "bound of queries, keys and values or null");
    b.field("softmax_scale", softmax_scale, kPositive, "of attention scores; default 1 / sqrt(head_dim)");
    b.field("attn_pdrop", attn_pdrop, models::kDropout,
            "dropout of attention probabilities and before each residual addition");
    models::bind_fixed(b, "expansion_ratio", "4");
    models::bind_fixed(b, "use_bias", "false");
    models::bind_fixed(b, "tie_word_embeddings", "true");
    if (!b.reading()) return;
    if (b.sound({"hidden_dim"}) && double(hidden_dim) > kSize.most / 4)
      b.problem("hidden_dim", fmt::format("times 4 must be {}", kSize.words()));
    models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  static const KeyNames& hf_names() {
    static const KeyNames names = {{"seq_len", "max_seq_len"},
                                   {"hidden_dim", "d_model"},
                                   {"num_layers", "n_layers"},
                                   {"num_heads", "n_heads"},
                                   {"clip_qkv", "attn_config.clip_qkv"},
                                   {"softmax_scale", "attn_config.softmax_scale"},
                                   {"attn_pdrop", "attn_config.attn_pdrop"}};
    return names;
  }
  /// Hugging Face computes with slopes up to 2^-8, an MLP four times as wide and no biases whatever else the
  /// file says, and has no other kind of attention.
  Json hf_fixed() const {
    return {{"model_type", "mpt"},
            {"tie_word_embeddings", true},
            {"expansion_ratio", 4},
            {"no_bias", true},
            {"logit_scale", nullptr},
            {"emb_pdrop", 0},
            {"resid_pdrop", 0},
            {"attn_config.attn_type", "multihead_attention"},
            {"attn_config.prefix_lm", false},
            {"attn_config.qk_ln", false},
            {"attn_config.attn_uses_sequence_id", false},
            {"attn_config.alibi", true},
            {"attn_config.alibi_bias_max", kBiasMax}};
  }
  static Json hf_defaults() { return {{"d_model", 2048}, {"n_layers", 24}, {"n_heads", 16}}; }
  static Config from_hf(Json json, std::string_view name) {
    const auto inner = json.value("attn_config", Json::object());
    for (const auto& item : inner.items()) json["attn_config." + item.key()] = item.value();
    json = models::under_first_names(
        std::move(json),
        {{"d_model", "hidden_size"}, {"n_layers", "num_hidden_layers"}, {"n_heads", "num_attention_heads"}},
        name);
    return models::gpt_from_hf<Config>(json, name);
  }
  Json to_hf(std::int64_t vocab) const {
    constexpr std::string_view kInner = "attn_config.";
    const Json flat = models::gpt_to_hf(*this, "MptForCausalLM", vocab);
    Json json;
    for (const auto& [key, value] : flat.items()) {
      if (key.starts_with(kInner))
        json["attn_config"][key.substr(kInner.size())] = value;
      else
        json[key] = value;
    }
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    auto out = gpt_shape("mpt", 4 * hidden_dim, vocab, /*tied_head=*/true, attn_pdrop);
    out.scores_on_device = 1;
    return out;
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim);
    return d * vocab + N(num_layers) * (12 * d * d + 2 * d) + d;
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
struct Qkv : axis<"qkv"> {};
struct Head : axis<"heads"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Hidden = Named<Batch, Pos, Embed>;

struct Attention {
  static constexpr std::string_view kind = "Attention";
  nn::Linear<Embed, Axes<Qkv, Head, HeadDim>> wqkv;
  nn::Linear<Axes<Head, HeadDim>, Embed> out_proj;
  nn::AttentionOptions options;
  std::optional<double> clip;
  using fields = Fields<&Attention::wqkv, &Attention::out_proj, &Attention::options, &Attention::clip>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto qkv = wqkv(x);
    if (clip) qkv = nn::clipped(qkv, *clip);
    auto [q, key, value] = unbind<Qkv, 3>(qkv);
    auto k = rename<Pos, KeyPos>(key);
    auto v = rename<Pos, KeyPos>(value);
    return out_proj(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, options));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::LayerNorm<Embed> norm_1;
  Attention attn;
  nn::LayerNorm<Embed> norm_2;
  nn::PlainMlp<Embed, Mlp> ffn;
  double dropout = 0;
  using fields = Fields<&Block::norm_1, &Block::attn, &Block::norm_2, &Block::ffn, &Block::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + nn::dropout(attn(norm_1(x), context), dropout, context, "attn");
    return h + nn::dropout(ffn(norm_2(h)), dropout, context, "mlp");
  }
};

struct Mpt {
  using Config = mpt::Config;
  static constexpr std::string_view kind = "Mpt";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> wte;
  nn::Stacked<Block> blocks;
  nn::LayerNorm<Embed> norm_f;
  using fields = Fields<&Mpt::config, &Mpt::wte, &Mpt::blocks, &Mpt::norm_f>;

  static Mpt init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<Mlp> mlp{4 * c.hidden_dim};
    const Dim<Head> head{c.num_heads};
    const Dim<HeadDim> head_dim{c.head_dim()};
    const nn::SizesOf<Axes<Qkv, Head, HeadDim>> qkv{Dim<Qkv>{3}, head, head_dim};
    const nn::SizesOf<Axes<Head, HeadDim>> heads{head, head_dim};
    const auto slopes = nn::alibi_slopes(c.num_heads, Config::kBiasMax);
    const nn::AttentionOptions options{
        .scale = c.softmax_scale.value_or(0),
        .dropout = c.attn_pdrop,
        .slopes = core::from_data(nn::SizesOf<Axes<Head>>{head}.shape(), std::span<const float>(slopes))};
    const double std = c.initializer_range;
    const auto norm = [&] {
      return nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon, /*with_bias=*/false);
    };
    Mpt model;
    model.config = c;
    model.wte = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("wte"), std);
    model.blocks.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, ko, ku, kd] = key.fold("blocks").fold(std::uint64_t(i)).split<4>();
      const Attention attention{decltype(Attention::wqkv)::init(embed, qkv, kq, std, false),
                                decltype(Attention::out_proj)::init(heads, embed, ko, std, false), options,
                                c.clip_qkv};
      const nn::PlainMlp<Embed, Mlp> plain{nn::Linear<Embed, Mlp>::init(embed, mlp, ku, std, false),
                                           nn::Linear<Mlp, Embed>::init(mlp, embed, kd, std, false),
                                           core::Activation::gelu};
      model.blocks.blocks.push_back({norm(), attention, norm(), plain, c.attn_pdrop});
    }
    model.norm_f = norm();
    return model;
  }

  /// Hidden states after the final norm.
  Hidden operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    Hidden x = wte(ids);
    context.observe(0, x.array());
    x = norm_f(blocks(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const { return wte.weight; }

  nn::ModelShape shape() const { return config.shape(head().size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    return {"transformer." + models::renamed(path, {{".wqkv.", ".Wqkv."}})};
  }
  Json hf_config() const { return config.to_hf(head().size<Vocab>()); }
};

}  // namespace bora::mpt
