// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bora/audio/log_mel.h"
#include "bora/infer/speech_decoder.h"
#include "bora/run/open_model.h"

namespace bora::run {

/// Stands in TranscribeOptions::forced for the most probable language.
inline constexpr std::int32_t kHeardLanguage = -1;

struct TranscribeOptions {
  /// "en", or a name as english; empty: the most probable one, of a model that has several.
  std::string language;
  std::string task = "transcribe";
  infer::SpeechOptions decoding;
  /// forced_decoder_ids of older files: where there are any they stand behind the start in place of the tokens of
  /// language and task, which only say what they mean.
  std::vector<std::int32_t> forced;
};

/// What was said from `begin` to `end`, in seconds.
struct TranscriptPart {
  double begin = 0, end = 0;
  std::string text;
  std::vector<std::int32_t> ids;  ///< with the timestamps around them
};

struct Transcript {
  std::string language;  ///< that was given, or heard; empty: the model has none
  double seconds = 0;    ///< of sound
  std::string text;
  std::vector<TranscriptPart> parts;  ///< with timestamps one for each pair; else one for each chunk
};

/// Writes what is said in sounds of any length. One that is longer than what the model hears at a time is heard
/// chunk after chunk: of a model with timestamps the next chunk begins after the last pair of them, with the
/// features of the whole sound, as `transformers` does it, and so is a shorter one where timestamps are wanted; of
/// one without, where the last chunk ends.
class Transcriber {
 public:
  /// The model outlives it. Errors: Unsupported for a model that hears nothing; Usage for a language, a task or
  /// timestamps that the model does not have, with those that it has; those of speech_tokens and features_of.
  Transcriber(OpenedModel& opened, TranscribeOptions options);

  std::int64_t sample_rate() const { return log_mel_.config().sampling_rate; }
  /// Of a mono sound at that rate.
  Transcript operator()(std::span<const float> sound) const;

 private:
  void require_choices(const std::string& name) const;
  bool listens_for_language() const;
  std::vector<std::int32_t> prompt(const std::string& language, bool timestamps) const;
  /// Adds what is heard in a chunk, of which so many frames are sound; how many frames on the next one begins.
  std::int64_t write(std::span<const float> features, std::int64_t frames, double begin, bool timestamps,
                     Transcript& out) const;
  std::string text_of(const std::vector<std::int32_t>& ids) const;

  OpenedModel& opened_;
  nn::SpeechModel& model_;
  TranscribeOptions options_;
  audio::LogMel log_mel_;
  infer::SpeechTokens tokens_;
};

}  // namespace bora::run
