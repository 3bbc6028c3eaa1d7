// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The configuration alone: checked by a program that loads no tensor library.
#include "bora/models/llama_config.h"

#include "bora/base/error.h"
#include "bora/models/config_checks.h"

namespace bora::llama {

void Config::bind(Binder& b) {
  b.field("seq_len", seq_len, "longest sequence");
  b.field("hidden_dim", hidden_dim, "width");
  b.field("intermediate_dim", intermediate_dim, "width of the gated MLP");
  b.field("num_layers", num_layers, "number of blocks");
  b.field("num_heads", num_heads, "query heads");
  if (b.reading() && !b.present("num_kv_heads")) num_kv_heads = num_heads;
  b.field("num_kv_heads", num_kv_heads, "key and value heads; default num_heads");
  b.field("head_dim", head_dim, "default hidden_dim / num_heads");
  b.choice("activation_function", activation_function, {"silu", "gelu", "gelu_new", "quick_gelu", "relu"},
           "activation of the MLP's gate");
  b.field("initializer_range", initializer_range, "standard deviation of new weights");
  b.field("layer_norm_epsilon", layer_norm_epsilon, "of the RMS norms");
  b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
  b.field("attention_bias", attention_bias, "biases on query, key, value and output");
  b.field("use_bias", use_bias, "biases in the MLP");
  b.field("rope", rope, "rotary embedding");
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  models::ignore_accelerator_keys(b);
  b.ignored("use_layer_norm_weight", "norms always have a weight");
  models::check_heads(b, hidden_dim, num_heads, num_kv_heads, head_dim, /*rotary=*/true);
}

Config Config::from_hf(const Json& c, std::string_view name) {
  Config out;
  auto integer = [&](std::string_view key, std::int64_t otherwise) {
    auto it = c.find(key);
    return it == c.end() || it->is_null() ? otherwise : json_get<std::int64_t>(c, key, name);
  };
  out.seq_len = integer("max_position_embeddings", 2048);
  out.hidden_dim = integer("hidden_size", 4096);
  out.intermediate_dim = integer("intermediate_size", 11008);
  out.num_layers = integer("num_hidden_layers", 32);
  out.num_heads = integer("num_attention_heads", 32);
  out.num_kv_heads = integer("num_key_value_heads", out.num_heads);
  auto head = integer("head_dim", 0);
  if (head > 0) out.head_dim = head;
  out.activation_function = json_get<std::string>(c, "hidden_act", name, "silu");
  out.initializer_range = json_get<double>(c, "initializer_range", name, 0.02);
  out.layer_norm_epsilon = json_get<double>(c, "rms_norm_eps", name, 1e-6);
  out.tie_word_embeddings = json_get<bool>(c, "tie_word_embeddings", name, false);
  out.attention_bias = json_get<bool>(c, "attention_bias", name, false);
  out.use_bias = json_get<bool>(c, "mlp_bias", name, false);
  out.rope = nn::RopeConfig::from_hf(c, name);
  return out;
}

Json Config::to_hf(std::int64_t vocab_size) const {
  Json c;
  c["architectures"] = {"LlamaForCausalLM"};
  c["model_type"] = "llama";
  c["vocab_size"] = vocab_size;
  c["hidden_size"] = hidden_dim;
  c["intermediate_size"] = intermediate_dim;
  c["num_hidden_layers"] = num_layers;
  c["num_attention_heads"] = num_heads;
  c["num_key_value_heads"] = num_kv_heads;
  c["head_dim"] = head_size();
  c["hidden_act"] = activation_function;
  c["max_position_embeddings"] = seq_len;
  c["initializer_range"] = initializer_range;
  c["rms_norm_eps"] = layer_norm_epsilon;
  c["tie_word_embeddings"] = tie_word_embeddings;
  c["attention_bias"] = attention_bias;
  c["mlp_bias"] = use_bias;
  rope.to_hf(c);
  c["torch_dtype"] = "float32";
  return c;
}

nn::ModelShape Config::shape(std::int64_t vocab_size) const {
  return {.type = "llama",
          .layers = num_layers,
          .hidden = hidden_dim,
          .heads = num_heads,
          .kv_heads = num_kv_heads,
          .head_dim = head_size(),
          .mlp = intermediate_dim,
          .vocab = vocab_size,
          .seq_len = seq_len,
          .gated_mlp = true,
          .tied_head = tie_word_embeddings};
}

std::int64_t Config::parameter_count(std::int64_t vocab_size) const {
  auto d = hidden_dim, q = num_heads * head_size(), kv = num_kv_heads * head_size(), m = intermediate_dim;
  auto attention = 2 * d * q + 2 * d * kv + (attention_bias ? q + 2 * kv + d : 0);
  auto mlp = 3 * d * m + (use_bias ? 2 * m + d : 0);
  return vocab_size * d * (tie_word_embeddings ? 1 : 2) + num_layers * (attention + mlp + 2 * d) + d;
}

}  // namespace bora::llama
