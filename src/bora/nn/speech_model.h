// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A model of speech without its type: a language model whose texts are what it hears.
#pragma once
#include <vector>

#include "bora/nn/language_model_interface.h"

namespace bora::nn {

/// What the decoder takes from the encoder: keys and values of each of its layers, [batch, key_frame, heads,
/// head_dim]. Computed once for a chunk of sound.
struct HeardSpeech {
  std::vector<core::Array> keys, values;
};

/// Its batches have features, and one text a row without segments. The objective is that of the text.
/// Errors: InvalidArgument for features of other sizes than the shape's, or none.
class SpeechModel : public LanguageModel {
 public:
  /// The encoder's output [batch, frame, embed] for features f32 [batch, mel, frame].
  virtual core::Array encode(const core::Array& features, const Context& context) const = 0;
  /// What the decoder takes from that output.
  virtual HeardSpeech hear(const core::Array& encoded) const = 0;
  /// [batch, position, vocab] for ids i32 [batch, position]: with a cache the ids are each row's next ones, and
  /// the logits those of the last positions that the pass asks for. InvalidArgument beyond shape().seq_len.
  virtual core::Array logits(const core::Array& ids, const HeardSpeech& heard,
                             const Context& context) const = 0;
  /// Unsupported: there is no sound.
  core::Array logits(const core::Array& ids, const Context& context) const final;
};

}  // namespace bora::nn
