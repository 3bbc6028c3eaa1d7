// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/gpt_config.h"

#include <optional>

namespace bora::models {

void GptConfig::bind_gpt(Binder& b) {
  b.field("seq_len", seq_len, kSequence, "longest sequence");
  b.field("hidden_dim", hidden_dim, kSize, "width");
  b.field("num_layers", num_layers, kSize, "number of blocks");
  b.field("num_heads", num_heads, kSize, "attention heads");
  b.field("initializer_range", initializer_range, kNonNegative, "standard deviation of new weights");
  b.field("layer_norm_epsilon", layer_norm_epsilon, kEpsilonRange, "of the layer norms");
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  ignore_accelerator_keys(b);
  if (b.reading()) check_heads(b, hidden_dim, num_heads, num_heads, std::nullopt, /*rotary=*/false);
}

const KeyNames& gpt2_names() {
  static const KeyNames names = {{"n_positions", "max_position_embeddings"},
                                 {"n_embd", "hidden_size"},
                                 {"n_layer", "num_hidden_layers"},
                                 {"n_head", "num_attention_heads"}};
  return names;
}

nn::ModelShape GptConfig::gpt_shape(std::string_view type, std::int64_t mlp, std::int64_t vocab_size,
                                    bool tied_head, double attention_dropout) const {
  return {.type = std::string(type),
          .layers = num_layers,
          .hidden = hidden_dim,
          .heads = num_heads,
          .kv_heads = num_heads,
          .head_dim = head_dim(),
          .mlp = mlp,
          .vocab = vocab_size,
          .seq_len = seq_len,
          .gated_mlp = false,
          .tied_head = tied_head,
          .values_outside_layers = values_of_dropped_attention(attention_dropout, num_heads, num_layers,
                                                               seq_len, gradient_checkpointing),
          .drops_attention = attention_dropout > 0};
}

}  // namespace bora::models
