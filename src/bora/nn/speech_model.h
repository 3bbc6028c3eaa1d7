// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A model of speech without its type: an encoder that hears, a decoder that writes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/core/parameter.h"
#include "bora/nn/context.h"
#include "bora/nn/language_model.h"
#include "bora/nn/objective.h"

namespace bora::nn {

/// Sizes that decoding and tools need.
struct SpeechShape {
  std::string type;           ///< "whisper"
  std::int64_t mel_bins = 0;  ///< of the features
  std::int64_t frames = 0;    ///< of the features: exactly so many
  std::int64_t layers = 0;    ///< of the decoder
  std::int64_t vocab = 0;
  std::int64_t max_tokens = 0;  ///< positions of the decoder
};

/// What the decoder takes from the encoder: keys and values of each of its layers, [batch, key_frame, heads,
/// head_dim]. Computed once for a chunk of sound.
struct HeardSpeech {
  std::vector<core::Array> keys, values;
};

struct SpeechBatch {
  core::Array features;  ///< f32 [batch, mel, frame]
  TokenBatch text;       ///< without segments: one text a row
};

class SpeechModel {
 public:
  virtual ~SpeechModel() = default;
  virtual std::vector<core::Parameter> parameters() = 0;
  virtual SpeechShape shape() const = 0;

  /// The encoder's output [batch, frame, embed] for features f32 [batch, mel, frame]. Errors: InvalidArgument
  /// for features of other sizes than the shape's.
  virtual core::Array encode(const core::Array& features, const Context& context) const = 0;
  /// What the decoder takes from that output.
  virtual HeardSpeech hear(const core::Array& encoded) const = 0;
  /// [batch, position, vocab] for ids i32 [batch, position], as LanguageModel::logits: with a cache the ids are
  /// each row's next ones. InvalidArgument beyond max_tokens.
  virtual core::Array logits(const core::Array& ids, const HeardSpeech& heard,
                             const Context& context) const = 0;
  /// The loss of a batch.
  virtual Objective objective(const SpeechBatch& batch, const LossOptions& options) const = 0;

  virtual HfName hf_name(std::string_view path) const = 0;
  virtual Json hf_config() const = 0;
};

}  // namespace bora::nn
