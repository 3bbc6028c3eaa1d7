// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/llama.h"

#include <cmath>

#include "bora/base/error.h"
#include "bora/models/config_checks.h"

namespace bora::llama {

namespace {

Attention init_attention(const Config& c, const nn::RopeTable& rope, Key key) {
  auto [kq, kk, kv, ko] = key.split<4>();
  Dim<Embed> embed{c.hidden_dim};
  Dim<KvHead> kv_head{c.num_kv_heads};
  Dim<Group> group{c.num_heads / c.num_kv_heads};
  Dim<HeadDim> head_dim{c.head_size()};
  double std = c.initializer_range;
  bool bias = c.attention_bias;
  nn::SizesOf<Attention::Heads> heads{kv_head, group, head_dim};
  nn::SizesOf<Attention::KvHeads> kv_heads{kv_head, head_dim};
  return {decltype(Attention::q_proj)::init(embed, heads, kq, std, bias),
          decltype(Attention::k_proj)::init(embed, kv_heads, kk, std, bias),
          decltype(Attention::v_proj)::init(embed, kv_heads, kv, std, bias),
          decltype(Attention::o_proj)::init(heads, embed, ko, std, bias),
          rope,
          {.dropout = c.attention_dropout}};
}

nn::GatedMlp<Embed, Mlp> init_mlp(const Config& c, Key key) {
  return nn::GatedMlp<Embed, Mlp>::init(Dim<Embed>{c.hidden_dim}, Dim<Mlp>{c.intermediate_dim}, key,
                                        c.initializer_range, nn::parse_activation(c.activation_function),
                                        c.use_bias);
}

nn::RmsNorm<Embed> init_norm(const Config& c) {
  if (!c.use_layer_norm_weight) return nn::RmsNorm<Embed>::without_weight(c.layer_norm_epsilon);
  return nn::RmsNorm<Embed>::init(Dim<Embed>{c.hidden_dim}, c.layer_norm_epsilon);
}

}  // namespace

Llama Llama::init(const Config& config, Dim<Vocab> vocab, Key key) {
  Dim<Embed> embed{config.hidden_dim};
  auto rope = nn::RopeTable::make(config.rope, config.head_size(), config.seq_len);
  Llama model{config};
  model.embed_tokens =
      nn::Embedding<Vocab, Embed>::init(vocab, embed, key.fold("embed_tokens"), config.initializer_range);
  model.layers.remat = config.gradient_checkpointing;
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    auto layer = key.fold("layers").fold(static_cast<std::uint64_t>(i));
    model.layers.blocks.push_back({init_norm(config), init_attention(config, rope, layer.fold("attn")),
                                   init_norm(config), init_mlp(config, layer.fold("mlp")), std::nullopt,
                                   std::nullopt});
    if (!config.hybrid_norm) continue;
    auto& block = model.layers.blocks.back();
    block.post_attn_norm = init_norm(config);
    block.post_mlp_norm = init_norm(config);
  }
  if (config.input_embedding_norm) model.embed_norm = init_norm(config);
  model.norm = init_norm(config);
  if (!config.tie_word_embeddings) {
    model.lm_head =
        nn::Linear<Embed, Vocab>::init(embed, vocab, key.fold("lm_head"), config.initializer_range, false);
  }
  return model;
}

nn::HfName Llama::hf_name(std::string_view path) const {
  static const std::vector<std::pair<std::string_view, std::string_view>> renamed = {
      {".attn_norm.", ".input_layernorm."},
      {".mlp_norm.", ".post_attention_layernorm."},
      {".attn.", ".self_attn."}};
  if (path.starts_with("lm_head.")) return {std::string(path)};
  return {"model." + models::renamed(path, renamed)};
}

}  // namespace bora::llama
