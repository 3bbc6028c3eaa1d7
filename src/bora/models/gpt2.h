// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GPT-2 (Radford et al. 2019), with the options of the stable training recipes: attention scaled by layer,
// fp32 scores.
#pragma once
#include <string_view>

#include "bora/base/json.h"
#include "bora/models/gpt2_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

namespace bora::gpt2 {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct Qkv : axis<"qkv"> {};
struct Head : axis<"heads"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Ids = Indices<Batch, Pos>;
using Hidden = Named<Batch, Pos, Embed>;

struct Attention {
  static constexpr std::string_view kind = "Attention";
  nn::Linear<Embed, Axes<Qkv, Head, HeadDim>> c_attn;
  nn::Linear<Axes<Head, HeadDim>, Embed> c_proj;
  double dropout = 0;
  bool scale_by_size = true, scale_by_layer = false;
  using fields = Fields<&Attention::c_attn, &Attention::c_proj, &Attention::dropout,
                        &Attention::scale_by_size, &Attention::scale_by_layer>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto [q, key, value] = unbind<Qkv, 3>(c_attn(x));
    auto k = rename<Pos, KeyPos>(key);
    auto v = rename<Pos, KeyPos>(value);
    double scale = scale_by_size ? 1 / std::sqrt(static_cast<double>(q.template size<HeadDim>())) : 1;
    if (scale_by_layer) scale /= static_cast<double>(context.layer + 1);
    return c_proj(
        nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, {.scale = scale, .dropout = dropout}));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::LayerNorm<Embed> ln_1;
  Attention attn;
  nn::LayerNorm<Embed> ln_2;
  nn::PlainMlp<Embed, Mlp> mlp;
  double dropout = 0;
  using fields = Fields<&Block::ln_1, &Block::attn, &Block::ln_2, &Block::mlp, &Block::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    Hidden h = x + nn::dropout(attn(ln_1(x), context), dropout, context, "attn");
    return h + nn::dropout(mlp(ln_2(h)), dropout, context, "mlp");
  }
};

struct Gpt2 {
  using Config = gpt2::Config;
  static constexpr std::string_view kind = "Gpt2";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> wte;
  nn::Embedding<Pos, Embed> wpe;
  nn::Stacked<Block> h;
  nn::LayerNorm<Embed> ln_f;
  nn::Linear<Embed, Vocab> lm_head;  ///< empty where tied
  using fields = Fields<&Gpt2::config, &Gpt2::wte, &Gpt2::wpe, &Gpt2::h, &Gpt2::ln_f, &Gpt2::lm_head>;

  static Gpt2 init(const Config& config, Dim<Vocab> vocab, Key key);

  /// Hidden states after the final norm.
  Hidden operator()(const Ids& ids, const nn::Context& context) const {
    Hidden x = nn::dropout(nn::with_positions(wte(ids), wpe, context), config.embed_pdrop, context, "embed");
    context.observe(0, x.array());
    x = ln_f(h(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const { return config.tie_word_embeddings ? wte.weight : lm_head.weight; }

  nn::ModelShape shape() const { return config.shape(wte.weight.size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const;
  Json hf_config() const { return config.to_hf(wte.weight.size<Vocab>()); }
};

}  // namespace bora::gpt2
