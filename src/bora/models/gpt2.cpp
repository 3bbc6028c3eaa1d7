// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/gpt2.h"

#include <cmath>

#include "bora/base/error.h"
#include "bora/models/config_checks.h"

namespace bora::gpt2 {

namespace {

Block init_block(const Config& c, Key key) {
  auto [ka, kp, kf, km] = key.split<4>();
  Dim<Embed> embed{c.hidden_dim};
  Dim<Head> head{c.num_heads};
  Dim<HeadDim> head_dim{c.hidden_dim / c.num_heads};
  Dim<Mlp> mlp{c.mlp_dim()};
  double std = c.initializer_range;
  double residual_std =
      std / std::sqrt(2.0 * static_cast<double>(c.num_layers));  // Radford et al. 2019, section 2.3
  nn::SizesOf<Axes<Qkv, Head, HeadDim>> qkv{Dim<Qkv>{3}, head, head_dim};
  nn::SizesOf<Axes<Head, HeadDim>> heads{head, head_dim};
  Attention attention{decltype(Attention::c_attn)::init(embed, qkv, ka, std, c.use_bias),
                      decltype(Attention::c_proj)::init(heads, embed, kp, residual_std, c.use_bias),
                      c.attn_pdrop, c.scale_attn_weights, c.scale_attn_by_inverse_layer_idx};
  nn::PlainMlp<Embed, Mlp> feed_forward{
      nn::Linear<Embed, Mlp>::init(embed, mlp, kf, std, c.use_bias),
      nn::Linear<Mlp, Embed>::init(mlp, embed, km, residual_std, c.use_bias),
      nn::parse_activation(c.activation_function)};
  auto norm = [&] { return nn::LayerNorm<Embed>::init(embed, c.layer_norm_epsilon, c.use_bias); };
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
  model.ln_f = nn::LayerNorm<Embed>::init(embed, config.layer_norm_epsilon, config.use_bias);
  if (!config.tie_word_embeddings)
    model.lm_head =
        nn::Linear<Embed, Vocab>::init(embed, vocab, key.fold("lm_head"), config.initializer_range, false);
  return model;
}

nn::HfName Gpt2::hf_name(std::string_view path) const {
  static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
      {".mlp.up_proj.", ".mlp.c_fc."}, {".mlp.down_proj.", ".mlp.c_proj."}};
  if (path.starts_with("lm_head.")) return {std::string(path)};
  auto name = "transformer." + models::renamed(path, renamed);
  bool linear = name.find(".c_") != std::string::npos && name.ends_with(".weight");
  return {name, /*transposed=*/linear};
}

}  // namespace bora::gpt2
