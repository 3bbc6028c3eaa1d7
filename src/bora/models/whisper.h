// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whisper (Radford et al. 2022): an encoder of log-mel features and a decoder of text, both transformers with
// norms before attention and MLP.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bora/models/whisper_config.h"
#include "bora/nn/attention.h"
#include "bora/nn/conv.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/linear.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"
#include "bora/nn/speech_model.h"
#include "bora/nn/stacked.h"

namespace bora::whisper {

struct Batch : axis<"batch"> {};
struct Mel : axis<"mel"> {};
struct Frame : axis<"frame"> {};  // of features, and half as many of the encoder
struct KeyFrame : axis<"key_frame"> {};
struct Pos : axis<"position"> {};
struct KeyPos : axis<"key_position"> {};
struct Tap : axis<"tap"> {};
struct Embed : axis<"embed"> {};
struct Mixed : axis<"mixed"> {};  // of the second convolution's result, then Embed
struct Head : axis<"heads"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

using Features = Named<Batch, Mel, Frame>;
using Encoded = Named<Batch, Frame, Embed>;
using Ids = Indices<Batch, Pos>;
using Hidden = Named<Batch, Pos, Embed>;

/// What passes from block to block of the decoder: it hears the same in each.
struct Flow {
  Hidden x;
  Encoded encoded;
};

/// Keys and values of what was heard, for a layer of the decoder.
struct Heard {
  Named<Batch, KeyFrame, Head, HeadDim> keys, values;
};

/// Keys have no bias: it would add the same to all scores of a query.
struct Attention {
  static constexpr std::string_view kind = "Attention";
  nn::Linear<Embed, Axes<Head, HeadDim>> q_proj, k_proj, v_proj;
  nn::Linear<Axes<Head, HeadDim>, Embed> out_proj;
  nn::AttentionOptions options;
  using fields = Fields<&Attention::q_proj, &Attention::k_proj, &Attention::v_proj, &Attention::out_proj,
                        &Attention::options>;

  /// Of x along P to itself.
  template <Axis P, Axis K, NamedTensor X>
  X self(const X& x, const nn::Context& context) const {
    const auto k = rename<P, K>(k_proj(x));
    const auto v = rename<P, K>(v_proj(x));
    return out_proj(nn::attention<P, K, HeadDim>(q_proj(x), k, v, context, options));
  }
  Heard hear(const Encoded& encoded) const {
    return {rename<Frame, KeyFrame>(k_proj(encoded)), rename<Frame, KeyFrame>(v_proj(encoded))};
  }
  /// Of x to all that was heard.
  Hidden cross(const Hidden& x, const Heard& heard, nn::Context context) const {
    context.mask = nn::AttentionMask::none();
    context.cache = nullptr;
    context.key = context.fold("heard");
    return out_proj(
        nn::attention<Pos, KeyFrame, HeadDim>(q_proj(x), heard.keys, heard.values, context, options));
  }
};

struct EncoderBlock {
  static constexpr std::string_view kind = "EncoderBlock";
  Attention self_attn;
  nn::LayerNorm<Embed> self_attn_layer_norm;
  nn::Linear<Embed, Mlp> fc1;
  nn::Linear<Mlp, Embed> fc2;
  nn::LayerNorm<Embed> final_layer_norm;
  core::Activation activation = core::Activation::gelu;
  double dropout = 0, activation_dropout = 0;
  using fields = Fields<&EncoderBlock::self_attn, &EncoderBlock::self_attn_layer_norm, &EncoderBlock::fc1,
                        &EncoderBlock::fc2, &EncoderBlock::final_layer_norm, &EncoderBlock::activation,
                        &EncoderBlock::dropout, &EncoderBlock::activation_dropout>;

  Encoded operator()(const Encoded& x, const nn::Context& context) const {
    const Encoded h = x + nn::dropout(self_attn.self<Frame, KeyFrame>(self_attn_layer_norm(x), context),
                                      dropout, context, "attn");
    const auto inner = nn::dropout(bora::detail::activate(activation, fc1(final_layer_norm(h))),
                                   activation_dropout, context, "inner");
    return h + nn::dropout(fc2(inner), dropout, context, "mlp");
  }
};

struct DecoderBlock {
  static constexpr std::string_view kind = "DecoderBlock";
  Attention self_attn;
  nn::LayerNorm<Embed> self_attn_layer_norm;
  Attention encoder_attn;
  nn::LayerNorm<Embed> encoder_attn_layer_norm;
  nn::Linear<Embed, Mlp> fc1;
  nn::Linear<Mlp, Embed> fc2;
  nn::LayerNorm<Embed> final_layer_norm;
  core::Activation activation = core::Activation::gelu;
  double dropout = 0, activation_dropout = 0;
  using fields = Fields<&DecoderBlock::self_attn, &DecoderBlock::self_attn_layer_norm,
                        &DecoderBlock::encoder_attn, &DecoderBlock::encoder_attn_layer_norm,
                        &DecoderBlock::fc1, &DecoderBlock::fc2, &DecoderBlock::final_layer_norm,
                        &DecoderBlock::activation, &DecoderBlock::dropout, &DecoderBlock::activation_dropout>;

  Flow operator()(const Flow& in, const nn::Context& context) const {
    return {write(in.x, encoder_attn.hear(in.encoded), context), in.encoded};
  }
  Hidden write(const Hidden& x, const Heard& heard, const nn::Context& context) const {
    Hidden h = x + nn::dropout(self_attn.self<Pos, KeyPos>(self_attn_layer_norm(x), context), dropout,
                               context, "attn");
    h = h + nn::dropout(encoder_attn.cross(encoder_attn_layer_norm(h), heard, context), dropout, context,
                        "cross");
    const auto inner = nn::dropout(bora::detail::activate(activation, fc1(final_layer_norm(h))),
                                   activation_dropout, context, "inner");
    return h + nn::dropout(fc2(inner), dropout, context, "mlp");
  }
};

struct Encoder {
  static constexpr std::string_view kind = "Encoder";
  nn::Conv1d<Mel, Embed, Frame, Tap> conv1;
  nn::Conv1d<Embed, Mixed, Frame, Tap> conv2;
  nn::Embedding<Frame, Embed> embed_positions;  // sinusoids, not trained
  nn::Stacked<EncoderBlock> layers;
  nn::LayerNorm<Embed> layer_norm;
  core::Activation activation = core::Activation::gelu;
  double dropout = 0;
  using fields = Fields<&Encoder::conv1, &Encoder::conv2, &Encoder::embed_positions, &Encoder::layers,
                        &Encoder::layer_norm, &Encoder::activation, &Encoder::dropout>;

  Encoded operator()(const Features& features, const nn::Context& context) const;
};

struct Decoder {
  static constexpr std::string_view kind = "Decoder";
  nn::Embedding<Vocab, Embed> embed_tokens;
  nn::Embedding<Pos, Embed> embed_positions;
  nn::Stacked<DecoderBlock> layers;
  nn::LayerNorm<Embed> layer_norm;
  double dropout = 0;
  using fields = Fields<&Decoder::embed_tokens, &Decoder::embed_positions, &Decoder::layers,
                        &Decoder::layer_norm, &Decoder::dropout>;

  /// Hidden states after the last norm.
  Hidden operator()(const Ids& ids, const Encoded& encoded, const nn::Context& context) const;
  /// What each layer takes from the encoder, and the same with that at hand: for texts that grow.
  std::vector<Heard> hear(const Encoded& encoded) const;
  Hidden write(const Ids& ids, const std::vector<Heard>& heard, const nn::Context& context) const;
};

struct Whisper {
  static constexpr std::string_view kind = "Whisper";
  Config config;
  Encoder encoder;
  Decoder decoder;
  using fields = Fields<&Whisper::config, &Whisper::encoder, &Whisper::decoder>;

  static Whisper init(const Config& config, Dim<Vocab> vocab, Key key);
  const Named<Vocab, Embed>& head() const { return decoder.embed_tokens.weight; }
};

std::unique_ptr<nn::SpeechModel> erase_type(Whisper model);

}  // namespace bora::whisper
