// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GPT-NeoX (Black et al. 2022, arXiv:2204.06745) and Pythia (Biderman et al. 2023, arXiv:2304.01373):
// attention and MLP side by side, rotary positions on a part of each head.
#pragma once
#include <fmt/core.h>

#include <string>

#include "bora/base/error.h"
#include "bora/models/gpt_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/language_model.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/rope.h"
#include "bora/nn/stacked.h"

namespace bora::gpt_neox {

/// By default the model of 20 billion parameters.
struct Config : models::GptConfig {
  std::int64_t intermediate_dim = 24576;
  std::string activation_function = "gelu";
  double rotary_pct = 0.25, attention_dropout = 0, hidden_dropout = 0;
  bool use_parallel_residual = true, attention_bias = true, tie_word_embeddings = false;
  nn::RopeConfig rope;

  Config() { hidden_dim = 6144, num_layers = 44, num_heads = 64; }
  void bind(Binder& b) {
    bind_gpt(b);
    b.field("intermediate_dim", intermediate_dim, kSize, "width of the MLP");
    b.choice("activation_function", activation_function, {"gelu", "gelu_new", "quick_gelu", "relu", "silu"},
             "of the MLP");
    b.field("rotary_pct", rotary_pct, Range{.least = 0, .most = 1, .above = true},
            "the part of each head that is rotated");
    b.field("rope", rope, "rotary embedding");
    b.field("use_parallel_residual", use_parallel_residual,
            "attention and MLP both start from a block's input");
    b.field("attention_bias", attention_bias, "biases on query, key, value and output");
    b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
    b.field("attention_dropout", attention_dropout, models::kDropout, "dropout of attention probabilities");
    b.field("hidden_dropout", hidden_dropout, models::kDropout,
            "dropout after the embeddings and before each residual addition");
    if (!b.reading()) return;
    if (b.sound({"hidden_dim", "num_heads", "rotary_pct"}) && (rotary_dim() < 2 || rotary_dim() % 2 != 0))
      b.problem("rotary_pct",
                fmt::format("of heads of {} makes {} dimensions to rotate; their number must be "
                            "even and above 0",
                            head_dim(), rotary_dim()));
    models::check_parameters(b, hidden_dim, num_layers, count<double>(0));
  }

  std::int64_t rotary_dim() const { return std::int64_t(double(head_dim()) * rotary_pct); }
  static const KeyNames& hf_names() {
    static const KeyNames names = {
        {"seq_len", "max_position_embeddings"},    {"hidden_dim", "hidden_size"},
        {"intermediate_dim", "intermediate_size"}, {"num_layers", "num_hidden_layers"},
        {"num_heads", "num_attention_heads"},      {"activation_function", "hidden_act"},
        {"layer_norm_epsilon", "layer_norm_eps"},  {"rope.theta", "rotary_emb_base"}};
    return names;
  }
  Json hf_fixed() const { return {{"model_type", "gpt_neox"}}; }
  static Config from_hf(Json json, std::string_view name) {
    KeyNames names = hf_names();
    for (auto& [ours, theirs] : names)
      if (ours == "rope.theta" && !json.contains("rotary_emb_base")) theirs = "rope_theta";
    json["rope_theta"] = json["rotary_emb_base"] = older(json, "rotary_emb_base", "rope_theta", 10000, name);
    json["rotary_pct"] = older(json, "rotary_pct", "partial_rotary_factor", 0.25, name);
    auto config = models::gpt_from_hf<Config>(json, name);
    config.rope = nn::RopeConfig::from_hf(json, name);
    config.seq_len = config.rope.longest(config.seq_len);
    models::require_values(config, names, name);
    models::require_fixed(json, {{"head_dim", config.head_dim()}}, name);
    return config;
  }
  Json to_hf(std::int64_t vocab) const {
    auto json = models::gpt_to_hf(*this, "GPTNeoXForCausalLM", vocab);
    json.erase("rope");
    rope.to_hf(json);
    json["rotary_emb_base"] = rope.theta;
    return json;
  }
  nn::ModelShape shape(std::int64_t vocab) const {
    return gpt_shape("gpt_neox", intermediate_dim, vocab, tie_word_embeddings, attention_dropout);
  }

  template <class N>
  N count(N vocab) const {
    const auto d = N(hidden_dim), m = N(intermediate_dim);
    const N block = 4 * d * d + (attention_bias ? 4 * d : N(0)) + 2 * d * m + m + d + 4 * d;
    return d * vocab * N(tie_word_embeddings ? 1 : 2) + N(num_layers) * block + 2 * d;
  }
  std::int64_t parameter_count(std::int64_t vocab) const {
    models::require_countable(count(double(vocab)), vocab, hidden_dim);
    return count(vocab);
  }

 private:
  /// What `key` says, or the name that it has in newer files, which transformers reads among rope_parameters alone.
  static Json older(const Json& json, const char* key, const char* newer, double standard,
                    std::string_view name) {
    const Json scaling = json.value("rope_scaling", Json()),
               parameters = json.value("rope_parameters", Json());
    const Json& inside = scaling.empty() ? parameters : scaling;
    const Json within = inside.is_object() ? inside.value(newer, Json()) : Json(),
               outside = json.value(key, Json());
    (void)json_get<double>(json, key, name, standard);  // a number, if it is there
    models::require_agreement(key, outside, std::string(newer) + " of rope_parameters", within, name);
    Json value = !within.is_null() ? within : !outside.is_null() ? outside : Json(standard);
    if (const Json beside = json.value(newer, Json()); !beside.is_null() && beside != value)
      fail(
          ErrorKind::Unsupported,
          "{0}: {1} is {2}, but transformers reads {3} in models of this type, {4} ({5} where it is left out), "
          "which must be the same\nhint: give both the same value, or remove {1}",
          name, newer, beside.dump(), key, value.dump(), Json(standard).dump());
    return value;
  }
};

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Embed : axis<"embed"> {};
struct Head : axis<"heads"> {};
struct Qkv : axis<"qkv"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Hidden = Named<Batch, Pos, Embed>;

struct Attention {
  static constexpr std::string_view kind = "Attention";
  nn::Linear<Embed, Axes<Head, Qkv, HeadDim>> query_key_value;
  nn::Linear<Axes<Head, HeadDim>, Embed> dense;
  nn::RopeTable rope_table;
  double dropout = 0;
  using fields =
      Fields<&Attention::query_key_value, &Attention::dense, &Attention::rope_table, &Attention::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    auto [query, key, value] = unbind<Qkv, 3>(query_key_value(x));
    auto q = nn::rope<Pos, HeadDim>(query, rope_table, context);
    auto k = rename<Pos, KeyPos>(nn::rope<Pos, HeadDim>(key, rope_table, context));
    auto v = rename<Pos, KeyPos>(value);
    return dense(nn::attention<Pos, KeyPos, HeadDim>(q, k, v, context, {.dropout = dropout}));
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  nn::LayerNorm<Embed> input_layernorm, post_attention_layernorm;
  Attention attention;
  nn::PlainMlp<Embed, Mlp> mlp;
  bool parallel = true;
  double dropout = 0;
  using fields = Fields<&Block::input_layernorm, &Block::post_attention_layernorm, &Block::attention,
                        &Block::mlp, &Block::parallel, &Block::dropout>;

  Hidden operator()(const Hidden& x, const nn::Context& context) const {
    const auto seen = nn::dropout(attention(input_layernorm(x), context), dropout, context, "attn");
    const Hidden h = parallel ? x : seen + x;
    const auto thought = nn::dropout(mlp(post_attention_layernorm(h)), dropout, context, "mlp");
    return parallel ? thought + seen + x : thought + h;
  }
};

struct GptNeoX {
  using Config = gpt_neox::Config;
  static constexpr std::string_view kind = "GptNeoX";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;

  Config config;
  nn::Embedding<Vocab, Embed> embed_in;
  nn::Stacked<Block> layers;
  nn::LayerNorm<Embed> final_layer_norm;
  nn::Linear<Embed, Vocab> embed_out;  ///< empty where tied
  using fields = Fields<&GptNeoX::config, &GptNeoX::embed_in, &GptNeoX::layers, &GptNeoX::final_layer_norm,
                        &GptNeoX::embed_out>;

  static GptNeoX init(const Config& c, Dim<Vocab> vocab, Key key) {
    const Dim<Embed> embed{c.hidden_dim};
    const Dim<Mlp> mlp{c.intermediate_dim};
    const Dim<Head> head{c.num_heads};
    const Dim<HeadDim> head_dim{c.head_dim()};
    const nn::SizesOf<Axes<Head, Qkv, HeadDim>> qkv{head, Dim<Qkv>{3}, head_dim};
    const nn::SizesOf<Axes<Head, HeadDim>> heads{head, head_dim};
    const auto rope = nn::RopeTable::make(c.rope, c.rotary_dim(), c.seq_len);
    const double std = c.initializer_range;
    const auto norm = [&] { return nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon); };
    GptNeoX model;
    model.config = c;
    model.embed_in = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_in"), std);
    model.layers.remat = c.gradient_checkpointing;
    for (std::int64_t i = 0; i < c.num_layers; ++i) {
      const auto [kq, kd, ku, km] = key.fold("layers").fold(std::uint64_t(i)).split<4>();
      const Attention attention{
          decltype(Attention::query_key_value)::init(embed, qkv, kq, std, c.attention_bias),
          decltype(Attention::dense)::init(heads, embed, kd, std, c.attention_bias), rope,
          c.attention_dropout};
      const nn::PlainMlp<Embed, Mlp> plain{nn::Linear<Embed, Mlp>::init(embed, mlp, ku, std),
                                           nn::Linear<Mlp, Embed>::init(mlp, embed, km, std),
                                           nn::parse_activation(c.activation_function)};
      model.layers.blocks.push_back(
          {norm(), norm(), attention, plain, c.use_parallel_residual, c.hidden_dropout});
    }
    model.final_layer_norm = norm();
    if (!c.tie_word_embeddings)
      model.embed_out = nn::Linear<Embed, Vocab>::init(embed, vocab, key.fold("embed_out"), std, false);
    return model;
  }

  /// Hidden states after the final norm.
  Hidden operator()(const Indices<Batch, Pos>& ids, const nn::Context& context) const {
    Hidden x = nn::dropout(embed_in(ids), config.hidden_dropout, context, "embed");
    context.observe(0, x.array());
    x = final_layer_norm(layers(x, context));
    context.observe(config.num_layers, x.array());
    return x;
  }
  const Named<Vocab, Embed>& head() const {
    return config.tie_word_embeddings ? embed_in.weight : embed_out.weight;
  }

  nn::ModelShape shape() const { return config.shape(head().size<Vocab>()); }
  nn::HfName hf_name(std::string_view path) const {
    static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
        {".mlp.up_proj.", ".mlp.dense_h_to_4h."}, {".mlp.down_proj.", ".mlp.dense_4h_to_h."}};
    if (path.starts_with("embed_out.")) return {std::string(path)};
    return {"gpt_neox." + models::renamed(path, renamed)};
  }
  Json hf_config() const { return config.to_hf(head().size<Vocab>()); }
};

}  // namespace bora::gpt_neox
