// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The configuration alone: checked by a program that loads no tensor library.
#include "bora/models/llama_config.h"

#include "bora/base/error.h"
#include "bora/models/config_checks.h"
#include "bora/models/decoder_config.h"

namespace bora::llama {

namespace {

KeyNames hf_names() {
  KeyNames names = models::decoder_hf_names();
  names.emplace_back("activation_function", "hidden_act");
  return names;
}

// Embedding, head, blocks and the last norm.
template <class Number>
Number count(const Config& c, Number vocab_size) {
  const auto head = static_cast<Number>(c.head_size());
  const auto d = static_cast<Number>(c.hidden_dim), q = static_cast<Number>(c.num_heads) * head,
             kv = static_cast<Number>(c.num_kv_heads) * head, m = static_cast<Number>(c.intermediate_dim);
  const Number attention = 2 * d * q + 2 * d * kv + (c.attention_bias ? q + 2 * kv + d : 0);
  const Number mlp = 3 * d * m + (c.use_bias ? 2 * m + d : 0);
  const Number norm = c.use_layer_norm_weight ? d : 0;
  const Number norms = (c.hybrid_norm ? 4 : 2) * norm, around = (c.input_embedding_norm ? 2 : 1) * norm;
  return vocab_size * d * (c.tie_word_embeddings ? 1 : 2) +
         static_cast<Number>(c.num_layers) * (attention + mlp + norms) + around;
}

}  // namespace

void Config::bind(Binder& b) {
  b.field("seq_len", seq_len, models::kSequence, "longest sequence");
  b.field("hidden_dim", hidden_dim, kSize, "width");
  b.field("intermediate_dim", intermediate_dim, kSize, "width of the gated MLP");
  b.field("num_layers", num_layers, kSize, "number of blocks");
  b.field("num_heads", num_heads, kSize, "query heads");
  if (b.reading() && !b.present("num_kv_heads")) num_kv_heads = num_heads;
  b.field("num_kv_heads", num_kv_heads, kSize, "key and value heads; default num_heads");
  b.field("head_dim", head_dim, kSize, "default hidden_dim / num_heads");
  b.choice("activation_function", activation_function, {"silu", "gelu", "gelu_new", "quick_gelu", "relu"},
           "activation of the MLP's gate");
  b.field("initializer_range", initializer_range, kNonNegative, "standard deviation of new weights");
  b.field("layer_norm_epsilon", layer_norm_epsilon, kEpsilonRange, "of the RMS norms");
  b.field("attention_dropout", attention_dropout, models::kDropout, "dropout of attention probabilities");
  b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
  b.field("attention_bias", attention_bias, "biases on query, key, value and output");
  b.field("use_bias", use_bias, "biases in the MLP");
  b.field("use_layer_norm_weight", use_layer_norm_weight,
          "norms have weights; without them a model has no Hugging Face export");
  b.field("hybrid_norm", hybrid_norm,
          "norms of what attention and the MLP give, too; such a model has no Hugging Face export");
  b.field("input_embedding_norm", input_embedding_norm,
          "a norm of the embeddings; such a model has no Hugging Face export");
  b.field("rope", rope, "rotary embedding");
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  models::ignore_accelerator_keys(b);
  if (!b.reading()) return;
  models::check_heads(b, hidden_dim, num_heads, num_kv_heads, head_dim, /*rotary=*/true);
  models::check_parameters(b, hidden_dim, num_layers, count<double>(*this, 0));
}

Config Config::from_hf(const Json& c, std::string_view name) {
  Config out;
  const auto integer = [&](std::string_view key, std::int64_t otherwise) {
    return json_get<std::int64_t>(c, key, name, otherwise);
  };
  out.seq_len = integer("max_position_embeddings", 2048);
  out.hidden_dim = integer("hidden_size", 4096);
  out.intermediate_dim = integer("intermediate_size", 11008);
  out.num_layers = integer("num_hidden_layers", 32);
  out.num_heads = integer("num_attention_heads", 32);
  out.num_kv_heads = integer("num_key_value_heads", out.num_heads);
  if (auto it = c.find("head_dim"); it != c.end() && !it->is_null())
    out.head_dim = json_get<std::int64_t>(c, "head_dim", name);
  out.activation_function = models::plain_activation(json_get<std::string>(c, "hidden_act", name, "silu"));
  out.initializer_range = json_get<double>(c, "initializer_range", name, 0.02);
  out.layer_norm_epsilon = json_get<double>(c, "rms_norm_eps", name, 1e-6);
  out.attention_dropout = json_get<double>(c, "attention_dropout", name, 0.0);
  out.tie_word_embeddings = json_get<bool>(c, "tie_word_embeddings", name, false);
  out.attention_bias = json_get<bool>(c, "attention_bias", name, false);
  out.use_bias = json_get<bool>(c, "mlp_bias", name, false);
  out.use_layer_norm_weight = json_get<bool>(c, "use_layer_norm_weight", name, true);
  out.hybrid_norm = json_get<bool>(c, "hybrid_norm", name, false);
  out.input_embedding_norm = json_get<bool>(c, "input_embedding_norm", name, false);
  out.rope = nn::RopeConfig::from_hf(c, name);
  out.seq_len = out.rope.longest(out.seq_len);
  models::require_values(out, hf_names(), name);
  models::require_whole_turns(c, name);
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
  c["attention_dropout"] = attention_dropout;
  c["tie_word_embeddings"] = tie_word_embeddings;
  c["attention_bias"] = attention_bias;
  c["mlp_bias"] = use_bias;
  if (!use_layer_norm_weight) c["use_layer_norm_weight"] = false;
  if (hybrid_norm) c["hybrid_norm"] = true;
  if (input_embedding_norm) c["input_embedding_norm"] = true;
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
          .tied_head = tie_word_embeddings,
          .short_positions = rope.short_positions(),
          .values_outside_layers = models::values_of_dropped_attention(
              attention_dropout, num_heads, num_layers, seq_len, gradient_checkpointing),
          .drops_attention = attention_dropout > 0};
}

std::int64_t Config::parameter_count(std::int64_t vocab_size) const {
  models::require_countable(count<double>(*this, static_cast<double>(vocab_size)), vocab_size, hidden_dim);
  return count(*this, vocab_size);
}

}  // namespace bora::llama
