// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/decoder_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "bora/base/error.h"

namespace bora::models {
namespace {
constexpr Range kLayers = from_to(1, 0xFFFF);  // config.json may list them
}

const KeyNames& decoder_hf_names() {
  static const KeyNames names = {
      {"seq_len", "max_position_embeddings"},
      {"hidden_dim", "hidden_size"},
      {"intermediate_dim", "intermediate_size"},
      {"num_layers", "num_hidden_layers"},
      {"num_heads", "num_attention_heads"},
      {"num_kv_heads", "num_key_value_heads"},
      {"layer_norm_epsilon", "rms_norm_eps"},
      {"rope.theta", "rope_theta"},
      {"rope.factor", "rope_scaling.factor"},
      {"rope.low_freq_factor", "rope_scaling.low_freq_factor"},
      {"rope.high_freq_factor", "rope_scaling.high_freq_factor"},
      {"rope.beta_fast", "rope_scaling.beta_fast"},
      {"rope.beta_slow", "rope_scaling.beta_slow"},
      {"rope.mscale", "rope_scaling.mscale"},
      {"rope.mscale_all_dim", "rope_scaling.mscale_all_dim"},
      {"rope.truncate", "rope_scaling.truncate"},
      {"rope.attention_factor", "rope_scaling.attention_factor"},
      {"rope.short_factor", "rope_scaling.short_factor"},
      {"rope.long_factor", "rope_scaling.long_factor"},
      {"rope.original_max_position_embeddings", "rope_scaling.original_max_position_embeddings"}};
  return names;
}

void DecoderConfig::bind_plain_llama(Binder& b, std::string_view use_bias) {
  bind_fixed(b, "activation_function", "silu");
  bind_fixed(b, "use_bias", use_bias);
  bind_fixed(b, "use_layer_norm_weight", "true");
  bind_fixed(b, "hybrid_norm", "false");
  bind_fixed(b, "input_embedding_norm", "false");
}

void DecoderConfig::bind_decoder(Binder& b, std::initializer_list<std::string_view> derived) {
  const auto is_derived = [&](std::string_view key) {
    return std::find(derived.begin(), derived.end(), key) != derived.end();
  };
  const auto follows = [&](std::string_view key) {
    return b.reading() && (b.present(key) ? b.is_null(key) : is_derived(key));
  };
  b.field("seq_len", seq_len, kSequence, "longest sequence");
  b.field("hidden_dim", hidden_dim, kSize, "width");
  b.field("intermediate_dim", intermediate_dim, kSize, "width of the gated MLP");
  b.field("num_layers", num_layers, kLayers, "number of blocks");
  b.field("num_heads", num_heads, kSize, "query heads");
  if (follows("num_kv_heads")) {
    b.mark_used("num_kv_heads");
    num_kv_heads = num_heads;
  } else {
    b.field("num_kv_heads", num_kv_heads, kSize,
            is_derived("num_kv_heads") ? "key and value heads; default num_heads" : "key and value heads");
  }
  const bool divides = follows("head_dim");
  if (divides) {
    b.mark_used("head_dim");
    head_dim = std::max<std::int64_t>(1, hidden_dim / num_heads);
  } else {
    b.field("head_dim", head_dim, kSize,
            is_derived("head_dim") ? "width of a head; default hidden_dim / num_heads" : "width of a head");
  }
  b.field("initializer_range", initializer_range, kNonNegative, "standard deviation of new weights");
  b.field("layer_norm_epsilon", layer_norm_epsilon, kEpsilonRange, "of the RMS norms");
  b.field("attention_dropout", attention_dropout, kDropout, "dropout of attention probabilities");
  b.field("rope", rope, "rotary embedding");
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  ignore_accelerator_keys(b);
  if (!b.reading()) return;
  check_heads(b, hidden_dim, num_heads, num_kv_heads, divides ? std::nullopt : std::optional(head_dim),
              /*rotary=*/true);
}

nn::ModelShape DecoderConfig::decoder_shape(std::string_view type, std::int64_t vocab_size,
                                            bool tied_head) const {
  return {.type = std::string(type),
          .layers = num_layers,
          .hidden = hidden_dim,
          .heads = num_heads,
          .kv_heads = num_kv_heads,
          .head_dim = head_dim,
          .mlp = intermediate_dim,
          .vocab = vocab_size,
          .seq_len = seq_len,
          .gated_mlp = true,
          .tied_head = tied_head,
          .short_positions = rope.short_positions(),
          .values_outside_layers = values_of_dropped_attention(attention_dropout, num_heads, num_layers,
                                                               seq_len, gradient_checkpointing),
          .drops_attention = attention_dropout > 0};
}

void require_whole_turns(const Json& json, std::string_view name) {
  constexpr const char* kPart = "partial_rotary_factor";
  require_fixed(json, {{kPart, 1}}, name);
  for (const auto* key : {"rope_parameters", "rope_scaling"})
    if (const auto rope = json.find(key); rope != json.end() && rope->is_object())
      require_fixed(*rope, {{kPart, 1}}, fmt::format("{}: {}", name, key));
}

}  // namespace bora::models
