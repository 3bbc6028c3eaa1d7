// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bora/infer/speech_rules.h"
#include "bora/nn/speech_model.h"

namespace bora::infer {

struct SpeechOptions {
  bool timestamps = false;
  std::int64_t beams = 1;           ///< 1: greedy
  double length_penalty = 1;        ///< of beams: a text's score is its log-probability / length^this
  std::int64_t max_new_tokens = 0;  ///< 0: as many as the decoder has positions for
};

/// The tokens after `prompt`, without the end token: greedy, or by beam search as transformers does it (twice as
/// many candidates as beams, the best ended texts kept until no running one can be better). `heard`: of one chunk.
/// Errors: InvalidArgument for an empty prompt, one that fills the decoder, or ids outside of the vocabulary;
/// NonFinite for logits that are not finite.
std::vector<std::int32_t> decode_speech(const nn::SpeechModel& model, const nn::HeardSpeech& heard,
                                        const SpeechTokens& tokens, const std::vector<std::int32_t>& prompt,
                                        const SpeechOptions& options);

/// The most probable language after the start token, as tokens.languages names it.
std::string detect_language(const nn::SpeechModel& model, const nn::HeardSpeech& heard,
                            const SpeechTokens& tokens);

}  // namespace bora::infer
