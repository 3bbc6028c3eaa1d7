// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Backpack (Hewitt et al. 2023): every token has a few sense vectors that depend on it alone; a GPT-2 says how
// much each sense of each earlier token counts, and their weighted sum predicts.
#pragma once
#include <cmath>
#include <string_view>

#include "bora/models/backpack_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/stacked.h"

namespace bora::backpack {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct Qkv : axis<"qkv"> {};
struct Head : axis<"heads"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Sense : axis<"senses"> {};
struct Part : axis<"sense_parts"> {};
struct PartDim : axis<"part_dim"> {};
struct Vocab : axis<"vocab"> {};

using Ids = Indices<Batch, Pos>;
using Hidden = Named<Batch, Pos, Embed>;
using Senses = Named<Batch, Pos, Sense, Embed>;

struct Attention {
  static constexpr std::string_view kind = "Attention";
  nn::Linear<Embed, Axes<Qkv, Head, HeadDim>> c_attn;
  nn::Linear<Axes<Head, HeadDim>, Embed> c_proj;
  double dropout = 0;
  bool scale_by_layer = false;
  using fields =
      Fields<&Attention::c_attn, &Attention::c_proj, &Attention::dropout, &Attention::scale_by_layer>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto [q, key, value] = unbind<Qkv, 3>(c_attn(x));
    auto k = rename<Pos, KeyPos>(key);
    auto v = rename<Pos, KeyPos>(value);
    double scale = 1 / std::sqrt(static_cast<double>(q.template size<HeadDim>()));
    if (scale_by_layer) scale /= static_cast<double>(context.layer + 1);
    const nn::AttentionOptions options{.scale = scale, .dropout = dropout};
    return c_proj(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, options));
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

/// The senses of tokens, from their embeddings alone.
struct SenseNetwork {
  struct Mixing {  // an MLP between residuals, nothing of other positions
    static constexpr std::string_view kind = "Block";
    nn::LayerNorm<Embed> ln_1, ln_2;
    nn::PlainMlp<Embed, Mlp> mlp;
    using fields = Fields<&Mixing::ln_1, &Mixing::ln_2, &Mixing::mlp>;
  };
  struct Last {
    static constexpr std::string_view kind = "Mlp";
    nn::Linear<Embed, Mlp> up_proj;
    nn::Linear<Mlp, Axes<Sense, Embed>> down_proj;
    using fields = Fields<&Last::up_proj, &Last::down_proj>;
  };
  static constexpr std::string_view kind = "SenseNetwork";
  nn::LayerNorm<Embed> ln;
  Mixing block;
  Last final_mlp;
  double embed_dropout = 0, dropout = 0;
  using fields = Fields<&SenseNetwork::ln, &SenseNetwork::block, &SenseNetwork::final_mlp,
                        &SenseNetwork::embed_dropout, &SenseNetwork::dropout>;

  static SenseNetwork init(const Config& c, Key key) {
    const auto [ku, kd, kf, ks] = key.split<4>();
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<Mlp> inner{Config::kSenseMlp * c.hidden_dim}, wide{c.sense_intermediate_scale * c.hidden_dim};
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    const nn::PlainMlp<Embed, Mlp> mlp{nn::Linear<Embed, Mlp>::init(embed, inner, ku, std),
                                       nn::Linear<Mlp, Embed>::init(inner, embed, kd, std),
                                       nn::parse_activation(c.activation_function)};
    const Last last{nn::Linear<Embed, Mlp>::init(embed, wide, kf, std),
                    decltype(Last::down_proj)::init(wide, {Dim<Sense>{c.num_senses}, embed}, ks, std)};
    return {norm(), {norm(), norm(), mlp}, last, c.embed_pdrop, c.resid_pdrop};
  }
  Senses operator()(const Hidden& embedded, const nn::Context& context) const {
    Hidden residual = nn::dropout(embedded, embed_dropout, context, "sense_embed");
    residual = residual + nn::dropout(ln(residual), dropout, context, "sense_first");
    const Hidden mixed = block.mlp(block.ln_1(residual));
    residual = residual + nn::dropout(mixed, dropout, context, "sense_mlp");
    const auto inner = bora::detail::activate(block.mlp.activation, final_mlp.up_proj(block.ln_2(residual)));
    return final_mlp.down_proj(inner);
  }
};

/// How much each sense of each earlier token counts at a position, and what that makes of them.
struct SenseWeights {
  static constexpr std::string_view kind = "SenseWeights";
  nn::Linear<Embed, Axes<Qkv, Sense, PartDim>> c_attn;
  using fields = Fields<&SenseWeights::c_attn>;

  /// Every sense is an attention head whose values are wider than its keys: it is computed in parts of the keys'
  /// width, which share queries and keys, so that it is as other attention is and never makes a matrix
  /// [position, key_position].
  Hidden operator()(const Hidden& hidden, const Senses& senses, const nn::Context& context) const {
    const auto [query, key] = unbind<Qkv, 2>(c_attn(hidden));
    const Dim<PartDim> width{query.template size<PartDim>()};
    const Dim<Part> parts{senses.size<Embed>() / width.size};
    using Heads = Named<Batch, Pos, Sense, Part, PartDim>;
    const Heads q = broadcast(query, parts), k = broadcast(key, parts);
    const Heads v = unflatten<Embed>(senses, parts, width);
    const auto mixed =
        nn::attention<Pos, KeyPos, PartDim>(q, rename<Pos, KeyPos>(k), rename<Pos, KeyPos>(v), context);
    return flatten<Axes<Part, PartDim>, Embed>(sum<Sense>(mixed));
  }
};

struct Backpack {
  using Config = backpack::Config;
  static constexpr std::string_view kind = "Backpack";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> wte;
  nn::Embedding<Pos, Embed> wpe;
  nn::Stacked<Block> h;
  nn::LayerNorm<Embed> ln_f;
  SenseNetwork sense_network;
  SenseWeights sense_weight_net;
  using fields = Fields<&Backpack::config, &Backpack::wte, &Backpack::wpe, &Backpack::h, &Backpack::ln_f,
                        &Backpack::sense_network, &Backpack::sense_weight_net>;

  static Backpack init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<Mlp> inner{c.mlp_dim()};
    const nn::SizesOf<Axes<Head, HeadDim>> heads{Dim<Head>{c.num_heads}, Dim<HeadDim>{c.head_dim()}};
    const double std = c.initializer_range, residual_std = std / std::sqrt(2.0 * double(c.num_layers));
    const auto norm = [&] { return nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    Backpack model;
    model.config = c;
    model.wte = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("wte"), std);
    model.wpe = nn::Embedding<Pos, Embed>::init(Dim<Pos>{c.seq_len}, embed, key.fold("wpe"), std / 2);
    model.h.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [ka, kp, ku, kd] = key.fold("h").fold(std::uint64_t(i)).split<4>();
      const Attention attention{
          decltype(Attention::c_attn)::init(embed, nn::join_sizes(nn::SizesOf<Axes<Qkv>>{Dim<Qkv>{3}}, heads),
                                            ka, std),
          decltype(Attention::c_proj)::init(heads, embed, kp, residual_std), c.attn_pdrop,
          c.scale_attn_by_inverse_layer_idx};
      const nn::PlainMlp<Embed, Mlp> mlp{nn::Linear<Embed, Mlp>::init(embed, inner, ku, std),
                                         nn::Linear<Mlp, Embed>::init(inner, embed, kd, residual_std),
                                         nn::parse_activation(c.activation_function)};
      model.h.blocks.push_back({norm(), attention, norm(), mlp, c.resid_pdrop});
    }
    model.ln_f = norm();
    model.sense_network = SenseNetwork::init(c, key.fold("sense_network"));
    model.sense_weight_net.c_attn = decltype(SenseWeights::c_attn)::init(
        embed, {Dim<Qkv>{2}, Dim<Sense>{c.num_senses}, Dim<PartDim>{c.hidden_dim / c.num_senses}},
        key.fold("sense_weight_net"), std);
    return model;
  }

  Senses senses(const Ids& ids, const nn::Context& context) const { return sense_network(wte(ids), context); }

  /// The weighted sum of senses. What a probe sees last are the states that the weights come from.
  Hidden operator()(const Ids& ids, const nn::Context& context) const {
    const Hidden embedded = wte(ids);
    Hidden x = nn::dropout(nn::with_positions(embedded, wpe, context), config.embed_pdrop, context, "embed");
    context.observe(0, x.array());
    x = ln_f(h(x, context));
    context.observe(config.num_layers, x.array());
    const auto mixed =
        sense_weight_net(x, sense_network(embedded, context), context.at_layer(config.num_layers));
    return config.divide_by_senses ? mixed / double(config.num_senses) : mixed;
  }
  const Named<Vocab, Embed>& head() const { return wte.weight; }

  nn::ModelShape shape() const { return config.shape(wte.weight.size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
        {"mlp.up_proj.", "mlp.c_fc."}, {"mlp.down_proj.", "mlp.c_proj."}};
    const bool of_gpt2 = !path.starts_with("sense_"), linear = !path.starts_with("sense_weight_net.");
    const auto name = (of_gpt2 ? "backpack.gpt2_model." : "backpack.") + models::renamed(path, renamed);
    return {name, /*transposed=*/linear && name.find(".c_") != name.npos && name.ends_with(".weight")};
  }
  Json hf_config() const { return config.to_hf(wte.weight.size<Vocab>()); }
};

}  // namespace bora::backpack
