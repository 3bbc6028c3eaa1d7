// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The configuration alone: checked by a program that loads no tensor library.
#include "bora/models/gpt2_config.h"

#include "bora/models/config_checks.h"
#include "bora/models/gpt_config.h"

namespace bora::gpt2 {

namespace {

constexpr Range kDropout{.least = 0, .most = 1, .below = true};

const KeyNames kHfNames = {{"seq_len", "n_positions"},   {"hidden_dim", "n_embd"},
                           {"num_layers", "n_layer"},    {"num_heads", "n_head"},
                           {"num_kv_heads", "n_head"},   {"intermediate_dim", "n_inner"},
                           {"embed_pdrop", "embd_pdrop"}};

// Embeddings, blocks and the last norm.
template <class Number>
Number count(const Config& c, Number vocab_size) {
  const auto d = static_cast<Number>(c.hidden_dim), m = static_cast<Number>(c.mlp_dim());
  const Number norm = (c.use_bias ? 2 : 1) * d, biases = c.use_bias ? 4 * d + m + d : 0;
  const Number block = 4 * d * d + 2 * d * m + biases + 2 * norm;
  const Number matrices = vocab_size * (c.tie_word_embeddings ? 1 : 2) + static_cast<Number>(c.seq_len);
  return matrices * d + static_cast<Number>(c.num_layers) * block + norm;
}

}  // namespace

void Config::bind(Binder& b) {
  b.field("seq_len", seq_len, models::kSequence, "longest sequence; size of the position table");
  b.field("hidden_dim", hidden_dim, kSize, "width");
  b.field("num_layers", num_layers, kSize, "number of blocks");
  b.field("num_heads", num_heads, kSize, "attention heads");
  b.field("mlp_scale", mlp_scale, kSize, "MLP width / hidden_dim");
  b.field("intermediate_dim", intermediate_dim, kSize, "MLP width; default mlp_scale × hidden_dim");
  b.choice("activation_function", activation_function, {"gelu_new", "gelu", "quick_gelu", "relu", "silu"},
           "of the MLP");
  b.field("initializer_range", initializer_range, kNonNegative, "standard deviation of new weights");
  b.field("layer_norm_epsilon", layer_norm_epsilon, kEpsilonRange, "of the layer norms");
  b.field("embed_pdrop", embed_pdrop, kDropout, "dropout after the embeddings");
  b.field("resid_pdrop", resid_pdrop, kDropout, "dropout before each residual addition");
  b.field("attn_pdrop", attn_pdrop, kDropout, "dropout of attention probabilities");
  b.field("scale_attn_weights", scale_attn_weights, "scores are divided by the root of the head size");
  b.field("scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx,
          "scores of layer i are divided by i + 1");
  b.field("use_bias", use_bias,
          "biases in linear maps and norms; a model without has no Hugging Face export");
  b.field("tie_word_embeddings", tie_word_embeddings, "the head is the embedding");
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  models::ignore_accelerator_keys(b);
  if (!b.reading()) return;
  models::check_heads(b, hidden_dim, num_heads, num_heads, std::nullopt, /*rotary=*/false);
  if (!intermediate_dim) models::check_width(b, "mlp_scale", mlp_scale, "hidden_dim", hidden_dim);
  models::check_parameters(b, hidden_dim, num_layers, count<double>(*this, 0));
}

Config Config::from_hf(const Json& json, std::string_view name) {
  const auto c = models::under_first_names(json, models::gpt2_names(), name);
  Config out;
  out.seq_len = json_get<std::int64_t>(c, "n_positions", name, 1024);
  out.hidden_dim = json_get<std::int64_t>(c, "n_embd", name, 768);
  out.num_layers = json_get<std::int64_t>(c, "n_layer", name, 12);
  out.num_heads = json_get<std::int64_t>(c, "n_head", name, 12);
  const auto inner = c.find("n_inner");
  if (inner != c.end() && !inner->is_null()) {
    const auto width = json_get<std::int64_t>(c, "n_inner", name);
    const bool possible = out.hidden_dim > 0 && width > 0 && kSize.allows(static_cast<double>(width));
    if (possible && width % out.hidden_dim == 0)
      out.mlp_scale = width / out.hidden_dim;
    else
      out.intermediate_dim = width;
  }
  out.activation_function =
      models::plain_activation(json_get<std::string>(c, "activation_function", name, "gelu_new"));
  out.initializer_range = json_get<double>(c, "initializer_range", name, 0.02);
  out.layer_norm_epsilon = json_get<double>(c, "layer_norm_epsilon", name, 1e-5);
  out.embed_pdrop = json_get<double>(c, "embd_pdrop", name, 0.1);
  out.resid_pdrop = json_get<double>(c, "resid_pdrop", name, 0.1);
  out.attn_pdrop = json_get<double>(c, "attn_pdrop", name, 0.1);
  out.scale_attn_by_inverse_layer_idx = json_get<bool>(c, "scale_attn_by_inverse_layer_idx", name, false);
  out.scale_attn_weights = json_get<bool>(c, "scale_attn_weights", name, true);
  out.use_bias = json_get<bool>(c, "use_bias", name, true);
  out.tie_word_embeddings = json_get<bool>(c, "tie_word_embeddings", name, true);
  models::require_values(out, kHfNames, name);
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
  c["n_inner"] = mlp_dim();
  c["activation_function"] = activation_function;
  c["resid_pdrop"] = resid_pdrop;
  c["embd_pdrop"] = embed_pdrop;
  c["attn_pdrop"] = attn_pdrop;
  c["layer_norm_epsilon"] = layer_norm_epsilon;
  c["initializer_range"] = initializer_range;
  c["scale_attn_weights"] = scale_attn_weights;
  c["scale_attn_by_inverse_layer_idx"] = scale_attn_by_inverse_layer_idx;
  c["reorder_and_upcast_attn"] = false;
  if (!use_bias) c["use_bias"] = false;
  c["tie_word_embeddings"] = tie_word_embeddings;
  c["torch_dtype"] = "float32";
  return c;
}

nn::ModelShape Config::shape(std::int64_t vocab_size) const {
  return {.type = "gpt2",
          .layers = num_layers,
          .hidden = hidden_dim,
          .heads = num_heads,
          .kv_heads = num_heads,
          .head_dim = hidden_dim / num_heads,
          .mlp = mlp_dim(),
          .vocab = vocab_size,
          .seq_len = seq_len,
          .gated_mlp = false,
          .tied_head = tie_word_embeddings,
          .learned_positions = true,
          .values_outside_layers = models::values_of_dropped_attention(attn_pdrop, num_heads, num_layers,
                                                                       seq_len, gradient_checkpointing),
          .drops_attention = attn_pdrop > 0};
}

std::int64_t Config::parameter_count(std::int64_t vocab_size) const {
  models::require_countable(count<double>(*this, static_cast<double>(vocab_size)), vocab_size, hidden_dim);
  return count(*this, vocab_size);
}

}  // namespace bora::gpt2
