// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Which tokens a decoder of speech may write next.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bora::infer {

/// The control tokens of a model of speech, as generation_config.json names them.
struct SpeechTokens {
  std::int32_t start = 0, end = 0;            ///< decoder_start_token_id, eos_token_id
  std::optional<std::int32_t> no_timestamps;  ///< the ids after it are the timestamps 0.00, 0.02, ...
  std::vector<std::int32_t> suppress, begin_suppress;    ///< never, and not as the first token
  std::optional<std::int64_t> max_initial_timestamp;     ///< the last one, counted from 0.00, to begin with
  std::map<std::string, std::int32_t> languages, tasks;  ///< "en", "transcribe"

  std::int32_t first_timestamp() const { return *no_timestamps + 1; }
};

/// Sets the scores (logits or log-probabilities) of tokens that may not come next to -inf: those that are
/// suppressed, and with `timestamps` by the rules of transformers' WhisperTimeStampLogitsProcessor. The text
/// begins with a timestamp, at most max_initial_timestamp; timestamps come in pairs, but for the first and
/// before the end; none is smaller than one before it, and one that begins a text ends it later; and where all
/// of them together are more probable than every other token, one of them comes. `sampled`: the tokens so far,
/// without the prompt.
void apply_speech_rules(const SpeechTokens& tokens, bool timestamps, std::span<const std::int32_t> sampled,
                        std::span<float> scores);

/// A part of a chunk between two timestamps, which count steps of two frames from the chunk's start.
struct SpeechPart {
  std::int64_t begin = 0, end = 0;
  std::vector<std::int32_t> ids;  ///< with the timestamps around them
  bool operator==(const SpeechPart&) const = default;
};
/// What was written of a chunk of `frames` frames of features, and how many frames on the next chunk begins:
/// after the last pair of timestamps, what comes behind it being cut off by the chunk's end; else at the end.
struct SpeechParts {
  std::vector<SpeechPart> parts;
  std::int64_t advance = 0;
};
SpeechParts split_by_timestamps(const SpeechTokens& tokens, const std::vector<std::int32_t>& ids,
                                std::int64_t frames);

}  // namespace bora::infer
