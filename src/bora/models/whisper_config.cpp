// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// The configuration alone: checked by a program that loads no tensor library.
#include "bora/models/whisper_config.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "bora/base/error.h"
#include "bora/models/config_checks.h"

namespace bora::whisper {
namespace {

constexpr models::SizeKeys kSizeKeys{.width = "d_model", .layers = "decoder_layers"};
constexpr std::int64_t kPositionsOfASecond = 50;  // 100 frames of features

const KeyNames kHfNames = {{"max_length", "max_target_positions"}, {"initializer_range", "init_std"}};

// Under the same name in YAML and in config.json.
constexpr std::array<std::pair<const char*, std::int64_t Config::*>, 9> kSizes = {
    {{"num_mel_bins", &Config::num_mel_bins},
     {"d_model", &Config::d_model},
     {"encoder_layers", &Config::encoder_layers},
     {"encoder_attention_heads", &Config::encoder_attention_heads},
     {"encoder_ffn_dim", &Config::encoder_ffn_dim},
     {"decoder_layers", &Config::decoder_layers},
     {"decoder_attention_heads", &Config::decoder_attention_heads},
     {"decoder_ffn_dim", &Config::decoder_ffn_dim},
     {"max_source_positions", &Config::max_source_positions}}};

constexpr std::array<std::pair<const char*, double Config::*>, 3> kDropouts = {
    {{"dropout", &Config::dropout},
     {"attention_dropout", &Config::attention_dropout},
     {"activation_dropout", &Config::activation_dropout}}};

// Keys have no bias; the encoder's positions count, though they are not trained.
template <class Number>
Number count(const Config& c, Number vocab_size) {
  const auto n = [](std::int64_t size) { return static_cast<Number>(size); };
  const Number d = n(c.d_model), attention = 4 * d * d + 3 * d, norm = 2 * d;
  const auto mlp = [&](std::int64_t width) { return 2 * d * n(width) + n(width) + d; };
  const Number convolutions = 3 * d * n(c.num_mel_bins) + d + 3 * d * d + d;
  const Number encoder = convolutions + n(c.max_source_positions) * d + norm +
                         n(c.encoder_layers) * (attention + 2 * norm + mlp(c.encoder_ffn_dim));
  const Number decoder = (vocab_size + n(c.seq_len)) * d + norm +
                         n(c.decoder_layers) * (2 * attention + 3 * norm + mlp(c.decoder_ffn_dim));
  return encoder + decoder;
}

void check(Binder& b, const Config& c) {
  const auto must_divide = [&](const char* key, std::int64_t heads) {
    if (b.sound({key, "d_model"}) && c.d_model % heads != 0)
      b.problem(key, fmt::format("must divide {} = {}", b.path("d_model"), c.d_model));
  };
  must_divide("encoder_attention_heads", c.encoder_attention_heads);
  must_divide("decoder_attention_heads", c.decoder_attention_heads);
  if (b.sound({"d_model"}) && (c.d_model % 2 != 0 || c.d_model < 4))
    b.problem("d_model", "must be even and at least 4");
  if (b.sound({"max_source_positions"}) && c.max_source_positions % kPositionsOfASecond != 0)
    b.problem("max_source_positions",
              fmt::format("must be a multiple of {}, which are a second of sound", kPositionsOfASecond));
  models::check_parameters(b, c.d_model, c.decoder_layers, count<double>(c, 0), kSizeKeys);
}

void refuse_other(const Json& json, std::string_view name) {
  if (json_get<bool>(json, "scale_embedding", name, false))
    fail(ErrorKind::Unsupported, "{}: scale_embedding = true is not supported", name);
  if (!json_get<bool>(json, "tie_word_embeddings", name, true))
    fail(ErrorKind::Unsupported, "{}: tie_word_embeddings = false is not supported", name);
}

}  // namespace

void Config::bind(Binder& b) {
  b.field("num_mel_bins", num_mel_bins, from_to(1, 1024), "mel bins of the features");
  b.field("d_model", d_model, kSize, "width");
  b.field("encoder_layers", encoder_layers, kSize, "blocks that hear");
  b.field("encoder_attention_heads", encoder_attention_heads, kSize, "attention heads of each");
  b.field("encoder_ffn_dim", encoder_ffn_dim, kSize, "MLP width of each");
  b.field("decoder_layers", decoder_layers, kSize, "blocks that write");
  b.field("decoder_attention_heads", decoder_attention_heads, kSize, "attention heads of each");
  b.field("decoder_ffn_dim", decoder_ffn_dim, kSize, "MLP width of each");
  b.field("max_source_positions", max_source_positions,
          from_to(kPositionsOfASecond, 3600 * kPositionsOfASecond),
          "positions of the encoder, 50 a second: the sound that is heard at a time");
  b.field("max_length", seq_len, models::kSequence, "positions of the decoder: tokens of a text");
  b.choice("activation_function", activation_function, {"gelu_new", "gelu", "quick_gelu", "relu", "silu"},
           "of the MLPs and the convolutions");
  b.field("initializer_range", initializer_range, kNonNegative, "standard deviation of new weights");
  b.field("dropout", dropout, models::kDropout,
          "dropout of the embeddings and before each residual addition");
  b.field("attention_dropout", attention_dropout, models::kDropout, "dropout of attention probabilities");
  b.field("activation_dropout", activation_dropout, models::kDropout, "dropout within the MLPs");
  double epsilon = kEpsilon;
  b.field("layer_norm_epsilon", epsilon, kPositive,
          "of the layer norms: 1e-05, for which config.json has no key");
  if (epsilon != kEpsilon)
    b.problem("layer_norm_epsilon", fmt::format("must be {} in models of this type", kEpsilon));
  gradient_checkpointing.bind(b, "gradient_checkpointing");
  models::ignore_accelerator_keys(b);
  models::bind_fixed(b, "use_bias", "true");
  b.ignored("vocab_size", "the vocabulary is the tokenizer's");
  if (b.reading()) check(b, *this);
}

Config Config::from_hf(const Json& given, std::string_view name) {
  const auto json = models::under_first_names(given,
                                              {{"d_model", "hidden_size"},
                                               {"encoder_layers", "num_hidden_layers"},
                                               {"encoder_attention_heads", "num_attention_heads"}},
                                              name);
  refuse_other(json, name);
  Config c;
  for (const auto& [key, size] : kSizes) c.*size = json_get(json, key, name, c.*size);
  c.seq_len = json_get(json, "max_target_positions", name, c.seq_len);
  c.activation_function = models::plain_activation(
      json_get<std::string>(json, "activation_function", name, c.activation_function));
  for (const auto& [key, p] : kDropouts) c.*p = json_get(json, key, name, c.*p);
  c.initializer_range = json_get(json, "init_std", name, c.initializer_range);
  models::require_values(c, kHfNames, name);
  c.other = json;
  return c;
}

Json Config::to_hf(std::int64_t vocab_size) const {
  Json json = other.is_object() ? other : Json::object();
  json["architectures"] = {"WhisperForConditionalGeneration"};
  json["model_type"] = "whisper";
  json["vocab_size"] = vocab_size;
  for (const auto& [key, size] : kSizes) json[key] = this->*size;
  for (const auto& [key, p] : kDropouts) json[key] = this->*p;
  json["max_target_positions"] = seq_len;
  json["activation_function"] = activation_function;
  json["init_std"] = initializer_range;
  json["is_encoder_decoder"] = true;
  if (!json.contains("torch_dtype")) json["torch_dtype"] = "float32";
  return json;
}

// Of one sequence: both convolutions, the encoder's layers as in run/memory_estimate.cpp, and attention to it.
double values_of_encoder(const Config& c) {
  const bool kept = c.gradient_checkpointing.kind == nn::RematPolicy::Kind::none;
  const auto width = double(c.d_model), layers = double(c.decoder_layers), heard = double(c.frames()) / 2;
  const double block = kept ? 9 * width + 2 * double(c.encoder_ffn_dim) : width;
  return heard * (8 * width + double(c.encoder_layers) * block + layers * 2 * width) +
         (kept ? double(c.seq_len) * layers * 4 * width : 0);
}

nn::ModelShape Config::shape(std::int64_t vocab_size) const {
  const auto dropped = [&](std::int64_t heads, std::int64_t layers, std::int64_t keys) {
    return models::values_of_dropped_attention(attention_dropout, heads, layers, keys,
                                               gradient_checkpointing);
  };
  // Of the encoder, whose positions are other ones, and of both attentions of the decoder.
  const double of_encoder =
      dropped(encoder_attention_heads, encoder_layers, max_source_positions) * double(max_source_positions);
  const double of_decoder = dropped(decoder_attention_heads, decoder_layers, seq_len + max_source_positions);
  return {.type = "whisper",
          .layers = decoder_layers,
          .hidden = d_model,
          .heads = decoder_attention_heads,
          .kv_heads = decoder_attention_heads,
          .head_dim = d_model / decoder_attention_heads,
          .mlp = decoder_ffn_dim,
          .vocab = vocab_size,
          .seq_len = seq_len,
          .gated_mlp = false,
          .tied_head = true,
          .learned_positions = true,
          .mel_bins = num_mel_bins,
          .frames = frames(),
          .values_outside_layers = (values_of_encoder(*this) + of_encoder) / double(seq_len) + of_decoder,
          .drops_attention = attention_dropout > 0};
}

std::int64_t Config::parameter_count(std::int64_t vocab_size) const {
  models::require_countable(count<double>(*this, static_cast<double>(vocab_size)), vocab_size, d_model,
                            kSizeKeys);
  return count(*this, vocab_size);
}

}  // namespace bora::whisper
