// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/gpt2.h"

#include <cmath>

#include "bora/base/error.h"
#include "bora/models/config_checks.h"

namespace bora::gpt2 {

void Config::bind(Binder& b) {
  b.field("seq_len", seq_len, "longest sequence; size of the position table");
  b.field("hidden_dim", hidden_dim, "width");
  b.field("num_layers", num_layers, "blocks");
  b.field("num_heads", num_heads, "attention heads");
  b.field("mlp_scale", mlp_scale, "MLP width / hidden_dim");
  b.choice("activation_function", activation_function, {"gelu_new", "gelu", "quick_gelu", "relu", "silu"},
           "of the MLP");
  b.field("initializer_range", initializer_range, "standard deviation of new weights");
  b.field("layer_norm_epsilon", layer_norm_epsilon, "of the layer norms");
  b.field("embed_pdrop", embed_pdrop, "dropout after the embeddings");
  b.field("resid_pdrop", resid_pdrop, "dropout before each residual addition");
  b.field("attn_pdrop", attn_pdrop, "dropout of attention probabilities");
  b.field("scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx,
          "scores of layer i are divided by i + 1");
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  models::ignore_accelerator_keys(b);
  b.ignored("use_bias", "GPT-2 always has biases");
  models::check_heads(b, hidden_dim, num_heads, num_heads, std::nullopt, /*rotary=*/false);
}

Config Config::from_hf(const Json& c, std::string_view name) {
  Config out;
  out.seq_len = json_get<std::int64_t>(c, "n_positions", name, 1024);
  out.hidden_dim = json_get<std::int64_t>(c, "n_embd", name, 768);
  out.num_layers = json_get<std::int64_t>(c, "n_layer", name, 12);
  out.num_heads = json_get<std::int64_t>(c, "n_head", name, 12);
  auto inner = c.find("n_inner");
  if (inner != c.end() && !inner->is_null()) {
    auto width = json_get<std::int64_t>(c, "n_inner", name);
    if (width % out.hidden_dim != 0) {
      fail(ErrorKind::Unsupported, "{}: n_inner = {} is not a multiple of n_embd = {}", name, width,
           out.hidden_dim);
    }
    out.mlp_scale = width / out.hidden_dim;
  }
  out.activation_function = json_get<std::string>(c, "activation_function", name, "gelu_new");
  out.initializer_range = json_get<double>(c, "initializer_range", name, 0.02);
  out.layer_norm_epsilon = json_get<double>(c, "layer_norm_epsilon", name, 1e-5);
  out.embed_pdrop = json_get<double>(c, "embd_pdrop", name, 0.1);
  out.resid_pdrop = json_get<double>(c, "resid_pdrop", name, 0.1);
  out.attn_pdrop = json_get<double>(c, "attn_pdrop", name, 0.1);
  out.scale_attn_by_inverse_layer_idx = json_get<bool>(c, "scale_attn_by_inverse_layer_idx", name, false);
  if (!json_get<bool>(c, "scale_attn_weights", name, true)) {
    fail(ErrorKind::Unsupported, "{}: scale_attn_weights = false is not supported", name);
  }
  return out;
}

Json Config::to_hf(std::int64_t vocab_size) const {
  Json c;
  c["architectures"] = {"GPT2LMHeadModel"};
  c["model_type"] = "gpt2";
  c["vocab_size"] = vocab_size;
  c["n_positions"] = seq_len;
  c["n_embd"] = hidden_dim;
  c["n_layer"] = num_layers;
  c["n_head"] = num_heads;
  c["n_inner"] = mlp_scale * hidden_dim;
  c["activation_function"] = activation_function;
  c["resid_pdrop"] = resid_pdrop;
  c["embd_pdrop"] = embed_pdrop;
  c["attn_pdrop"] = attn_pdrop;
  c["layer_norm_epsilon"] = layer_norm_epsilon;
  c["initializer_range"] = initializer_range;
  c["scale_attn_weights"] = true;
  c["scale_attn_by_inverse_layer_idx"] = scale_attn_by_inverse_layer_idx;
  c["reorder_and_upcast_attn"] = false;
  c["tie_word_embeddings"] = true;
  c["torch_dtype"] = "float32";
  return c;
}

namespace {

Block init_block(const Config& c, Key key) {
  auto [ka, kp, kf, km] = key.split<4>();
  Dim<Embed> embed{c.hidden_dim};
  Dim<Head> head{c.num_heads};
  Dim<HeadDim> head_dim{c.hidden_dim / c.num_heads};
  Dim<Mlp> mlp{c.mlp_scale * c.hidden_dim};
  double std = c.initializer_range;
  double residual_std =
      std / std::sqrt(2.0 * static_cast<double>(c.num_layers));  // Radford et al. 2019, section 2.3
  nn::SizesOf<Axes<Qkv, Head, HeadDim>> qkv{Dim<Qkv>{3}, head, head_dim};
  nn::SizesOf<Axes<Head, HeadDim>> heads{head, head_dim};
  Attention attention{decltype(Attention::c_attn)::init(embed, qkv, ka, std),
                      decltype(Attention::c_proj)::init(heads, embed, kp, residual_std), c.attn_pdrop,
                      c.scale_attn_by_inverse_layer_idx};
  nn::PlainMlp<Embed, Mlp> feed_forward{nn::Linear<Embed, Mlp>::init(embed, mlp, kf, std),
                                        nn::Linear<Mlp, Embed>::init(mlp, embed, km, residual_std),
                                        nn::parse_activation(c.activation_function)};
  auto norm = [&] { return nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon); };
  return {norm(), attention, norm(), feed_forward, c.resid_pdrop};
}

}  // namespace

Gpt2 Gpt2::init(const Config& config, Dim<Vocab> vocab, Key key) {
  Dim<Embed> embed{config.hidden_dim};
  Gpt2 model{config};
  model.wte = nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("wte"), config.initializer_range);
  // Levanter draws positions with half the range.
  model.wpe = nn::Embedding<Pos, Embed>::init(Dim<Pos>{config.seq_len}, embed, key.fold("wpe"),
                                              config.initializer_range / 2);
  model.h.remat = config.gradient_checkpointing;
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    model.h.blocks.push_back(init_block(config, key.fold("h").fold(static_cast<std::uint64_t>(i))));
  }
  model.ln_f = nn::LayerNorm<Embed>::init(embed, config.layer_norm_epsilon);
  return model;
}

nn::ModelShape Config::shape(std::int64_t vocab_size) const {
  return {.type = "gpt2",
          .layers = num_layers,
          .hidden = hidden_dim,
          .heads = num_heads,
          .kv_heads = num_heads,
          .head_dim = hidden_dim / num_heads,
          .mlp = mlp_scale * hidden_dim,
          .vocab = vocab_size,
          .seq_len = seq_len,
          .gated_mlp = false,
          .tied_head = true};
}

std::int64_t Config::parameter_count(std::int64_t vocab_size) const {
  auto d = hidden_dim, m = mlp_scale * hidden_dim;
  auto block = 4 * d * d + 4 * d + 2 * d * m + m + d + 4 * d;
  return (vocab_size + seq_len) * d + num_layers * block + 2 * d;
}

nn::HfName Gpt2::hf_name(std::string_view path) const {
  static const std::vector<std::pair<std::string_view, std::string_view>> kRenamed = {
      {".mlp.up_proj.", ".mlp.c_fc."}, {".mlp.down_proj.", ".mlp.c_proj."}};
  auto name = "transformer." + models::renamed(path, kRenamed);
  bool linear = name.find(".c_") != std::string::npos && name.ends_with(".weight");
  return {name, /*transposed=*/linear};
}

}  // namespace bora::gpt2
