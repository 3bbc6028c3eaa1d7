// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/whisper.h"

#include <cmath>
#include <utility>

#include "bora/base/error.h"
#include "bora/core/rows_apart.h"
#include "bora/nn/kv_cache.h"
#include "bora/nn/language_model.h"

namespace bora::whisper {
namespace {

// [frame, embed]: sines, then cosines, of wave lengths from 2 pi to 20000 pi frames.
std::vector<float> sinusoids(std::int64_t frames, std::int64_t width) {
  const auto half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(half - 1);
  std::vector<float> table;
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int64_t i = 0; i < width; ++i) {
      const double angle = static_cast<double>(t) * std::exp(-step * static_cast<double>(i % half));
      table.push_back(static_cast<float>(i < half ? std::sin(angle) : std::cos(angle)));
    }
  }
  return table;
}

// Makes the parts, all of one width.
class Maker {
 public:
  explicit Maker(const Config& config) : config_(config), embed_{config.d_model} {}

  nn::LayerNorm<Embed> norm() const { return nn::LayerNorm<Embed>::init(embed_, kEpsilon); }

  Attention attention(std::int64_t heads, Key key) const {
    auto [q, k, v, out] = key.split<4>();
    const nn::SizesOf<Axes<Head, HeadDim>> sizes{Dim<Head>{heads}, Dim<HeadDim>{config_.d_model / heads}};
    using In = nn::Linear<Embed, Axes<Head, HeadDim>>;
    using Out = nn::Linear<Axes<Head, HeadDim>, Embed>;
    const double std = config_.initializer_range;
    return {In::init(embed_, sizes, q, std),
            In::init(embed_, sizes, k, std, /*with_bias=*/false),
            In::init(embed_, sizes, v, std),
            Out::init(sizes, embed_, out, std),
            {.dropout = config_.attention_dropout}};
  }
  EncoderBlock encoder_block(Key key) const {
    auto [attn, up, down] = key.split<3>();
    const Dim<Mlp> mlp{config_.encoder_ffn_dim};
    return {attention(config_.encoder_attention_heads, attn),
            norm(),
            nn::Linear<Embed, Mlp>::init(embed_, mlp, up, config_.initializer_range),
            nn::Linear<Mlp, Embed>::init(mlp, embed_, down, config_.initializer_range),
            norm(),
            nn::parse_activation(config_.activation_function),
            config_.dropout,
            config_.activation_dropout};
  }
  DecoderBlock decoder_block(Key key) const {
    auto [attn, cross, up, down] = key.split<4>();
    const Dim<Mlp> mlp{config_.decoder_ffn_dim};
    return {attention(config_.decoder_attention_heads, attn),
            norm(),
            attention(config_.decoder_attention_heads, cross),
            norm(),
            nn::Linear<Embed, Mlp>::init(embed_, mlp, up, config_.initializer_range),
            nn::Linear<Mlp, Embed>::init(mlp, embed_, down, config_.initializer_range),
            norm(),
            nn::parse_activation(config_.activation_function),
            config_.dropout,
            config_.activation_dropout};
  }
  Encoder encoder(Key key) const {
    Encoder out;
    const Dim<Tap> taps{3};
    out.conv1 = decltype(Encoder::conv1)::init(Dim<Mel>{config_.num_mel_bins}, embed_, taps,
                                               key.fold("conv1"), config_.initializer_range, 1, 1);
    out.conv2 = decltype(Encoder::conv2)::init(embed_, Dim<Mixed>{config_.d_model}, taps, key.fold("conv2"),
                                               config_.initializer_range, 2, 1);
    out.embed_positions = {positions()};
    core::set_trainable(out.embed_positions.weight.mutable_array(), false);
    out.layers.remat = config_.gradient_checkpointing;
    for (std::int64_t i = 0; i < config_.encoder_layers; ++i)
      out.layers.blocks.push_back(encoder_block(key.fold("layers").fold(static_cast<std::uint64_t>(i))));
    out.layer_norm = norm();
    out.activation = nn::parse_activation(config_.activation_function);
    out.dropout = config_.dropout;
    return out;
  }
  Decoder decoder(Dim<Vocab> vocab, Key key) const {
    Decoder out;
    const double std = config_.initializer_range;
    out.embed_tokens = nn::Embedding<Vocab, Embed>::init(vocab, embed_, key.fold("embed_tokens"), std);
    out.embed_positions =
        nn::Embedding<Pos, Embed>::init(Dim<Pos>{config_.seq_len}, embed_, key.fold("embed_positions"), std);
    out.layers.remat = config_.gradient_checkpointing;
    for (std::int64_t i = 0; i < config_.decoder_layers; ++i)
      out.layers.blocks.push_back(decoder_block(key.fold("layers").fold(static_cast<std::uint64_t>(i))));
    out.layer_norm = norm();
    out.dropout = config_.dropout;
    return out;
  }

 private:
  Named<Frame, Embed> positions() const {
    const Dim<Frame> frames{config_.max_source_positions};
    const auto table = sinusoids(frames.size, config_.d_model);
    return nn::new_parameter<Frame, Embed>(from_vector(table, frames, embed_).array());
  }

  const Config& config_;
  Dim<Embed> embed_;
};

}  // namespace

Encoded Encoder::operator()(const Features& features, const nn::Context& context) const {
  const auto first = bora::detail::activate(activation, conv1(features));
  const auto second = rename<Mixed, Embed>(bora::detail::activate(activation, conv2(first)));
  Encoded x = nn::dropout(second + embed_positions.weight, dropout, context, "embed");
  context.observe(0, x.array());
  nn::Context here = context;
  here.mask = nn::AttentionMask::none();
  x = layer_norm(layers(x, here));
  context.observe(std::ssize(layers.blocks), x.array());
  return x;
}

namespace {
// A block that is used outside of its stack.
const DecoderBlock& at_hand(const DecoderBlock& block) {
  if (auto* store = core::parameter_store())
    store->need(nn::arrays_of(bora::parameters(const_cast<DecoderBlock&>(block))));
  return block;
}
}  // namespace

std::vector<Heard> Decoder::hear(const Encoded& encoded) const {
  std::vector<Heard> heard;
  for (const auto& layer : layers.blocks) heard.push_back(at_hand(layer).encoder_attn.hear(encoded));
  return heard;
}

Hidden Decoder::operator()(const Ids& ids, const Encoded& encoded, const nn::Context& context) const {
  const Hidden x =
      nn::dropout(nn::with_positions(embed_tokens(ids), embed_positions, context), dropout, context, "embed");
  context.observe(0, x.array());
  Hidden out = layer_norm(layers(Flow{x, encoded}, context).x);
  context.observe(std::ssize(layers.blocks), out.array());
  return out;
}

Hidden Decoder::write(const Ids& ids, const std::vector<Heard>& heard, const nn::Context& context) const {
  Hidden x = nn::with_positions(embed_tokens(ids), embed_positions, context);
  for (std::size_t i = 0; i < layers.blocks.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    context.observe(layer, x.array());
    x = at_hand(layers.blocks[i]).write(x, heard[i], context.at_layer(layer));
  }
  x = layer_norm(x);
  context.observe(std::ssize(layers.blocks), x.array());
  return x;
}

Whisper Whisper::init(const Config& config, Dim<Vocab> vocab, Key key) {
  const Maker make(config);
  return {config, make.encoder(key.fold("encoder")), make.decoder(vocab, key.fold("decoder"))};
}

namespace {

class Erased final : public nn::SpeechModel {
 public:
  explicit Erased(Whisper model) : model_(std::move(model)) {}

  std::vector<core::Parameter> parameters() override { return bora::parameters(model_); }
  nn::ModelShape shape() const override { return model_.config.shape(vocab()); }

  core::Array encode(const core::Array& features, const nn::Context& context) const override {
    hold_outside_stacks();
    return model_.encoder(checked(features), context).array();
  }
  nn::HeardSpeech hear(const core::Array& encoded) const override {
    nn::HeardSpeech out;
    for (auto& heard : model_.decoder.hear(from_array<Batch, Frame, Embed>(encoded))) {
      out.keys.push_back(heard.keys.array());
      out.values.push_back(heard.values.array());
    }
    return out;
  }
  core::Array logits(const core::Array& ids, const nn::HeardSpeech& heard,
                     const nn::Context& context) const override {
    const auto named = indices_from_array<Batch, Pos>(ids);
    const auto n = named.size<Pos>();
    require_room(n, context);
    hold_outside_stacks();
    const core::RowsApart apart(context.cache == nullptr ? 1 : context.cache->rows());
    Hidden hidden = model_.decoder.write(named, as_named(heard), context);
    if (context.cache != nullptr) {
      const auto last = std::min(n, context.cache->last());
      context.cache->finish(n);
      hidden = slice<Pos>(hidden, n - last, last);
    }
    return core::linear_logits(hidden.operand(), model_.head().operand(), {}, Axes<Batch, Pos, Vocab>::names);
  }
  nn::Objective objective(const nn::TokenBatch& batch, std::optional<Key> key,
                          const nn::LossOptions& options) const override {
    const Features features = checked(batch.features);
    hold_outside_stacks();
    const bool whole = options.compute == core::DType::f32;
    const Whisper compute = whole ? model_ : nn::cast_parameters(model_, options.compute);
    nn::Context hears{.key = key, .compute = options.compute}, writes = hears;
    hears.key = hears.fold("encoder"), writes.key = writes.fold("decoder");
    const auto encoded = compute.encoder(whole ? features : cast(features, options.compute), hears);
    const auto hidden = compute.decoder(indices_from_array<Batch, Pos>(batch.ids), encoded, writes);
    return nn::next_token_objective<Batch, Pos>(hidden, compute.head(), batch, options);
  }

  nn::HfName hf_name(std::string_view path) const override { return {"model." + std::string(path)}; }
  Json hf_config() const override { return model_.config.to_hf(vocab()); }

 private:
  std::int64_t vocab() const { return model_.head().size<Vocab>(); }
  // Embeddings, convolutions and the last norms are used outside of blocks.
  void hold_outside_stacks() const {
    if (auto* store = core::parameter_store())
      store->hold(nn::arrays_of(bora::parameters_outside_stacks(const_cast<Whisper&>(model_))));
  }
  Features checked(const core::Array& features) const {
    if (features.empty()) {
      fail(ErrorKind::InvalidArgument,
           "whisper: it hears sound, but a batch has none\nhint: data.format: {{type: speech}}");
    }
    auto named = from_array<Batch, Mel, Frame>(features);
    const Config& c = model_.config;
    if (named.size<Mel>() == c.num_mel_bins && named.size<Frame>() == c.frames()) return named;
    fail(ErrorKind::InvalidArgument,
         "whisper: features of {} mel bins and {} frames, but the model hears {} and {}\nhint: take the "
         "preprocessor_config.json that belongs to the model",
         named.size<Mel>(), named.size<Frame>(), c.num_mel_bins, c.frames());
  }
  void require_room(std::int64_t n, const nn::Context& context) const {
    const auto before = context.cache == nullptr ? 0 : context.cache->first_position(0);
    if (before + n <= model_.config.seq_len) return;
    fail(ErrorKind::InvalidArgument,
         "whisper: {} tokens, but the decoder has {} positions (max_target_positions)\nhint: a shorter text",
         before + n, model_.config.seq_len);
  }
  static std::vector<Heard> as_named(const nn::HeardSpeech& heard) {
    std::vector<Heard> out;
    for (std::size_t i = 0; i < heard.keys.size(); ++i) {
      out.push_back({from_array<Batch, KeyFrame, Head, HeadDim>(heard.keys[i]),
                     from_array<Batch, KeyFrame, Head, HeadDim>(heard.values[i])});
    }
    return out;
  }

  Whisper model_;
};

}  // namespace

std::unique_ptr<nn::SpeechModel> erase_type(Whisper model) {
  return std::make_unique<Erased>(std::move(model));
}

}  // namespace bora::whisper
