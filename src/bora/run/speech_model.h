// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a model of speech needs around it: features of sound, control tokens, its files in the Hugging Face layout.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "bora/audio/log_mel.h"
#include "bora/base/json.h"
#include "bora/infer/speech_rules.h"
#include "bora/nn/speech_model.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// The model as one of speech. Unsupported, with `name` and the type, for one that reads text alone.
nn::SpeechModel& require_speech(nn::LanguageModel& model, const std::string& name);
/// The model of speech of a Hugging Face directory, weights loaded. Errors: as above; those of load_model.
std::unique_ptr<nn::SpeechModel> load_speech(const std::string& directory);

/// The features that a model hears: those of a directory's preprocessor_config.json, if there is one; else
/// Whisper's. Corruption, with both values, if they are not of the model's sizes.
audio::FeatureConfig features_of(const nn::ModelShape& shape, const std::string& directory);

/// The control tokens that generation_config.json names, with Whisper's keys. What it does not name is looked up
/// in the tokenizer: the start as <|startoftranscript|>, else as what begins or ends texts; <|notimestamps|>.
/// Errors: Corruption, naming the file and the key, for what is no id of the vocabulary; NotFound where nothing
/// says how a text begins or ends.
infer::SpeechTokens speech_tokens(const Json& generation, const std::optional<Tokenizer>& tokenizer,
                                  std::int64_t vocab, const std::string& directory);

/// preprocessor_config.json of a model, as WhisperFeatureExtractor writes it.
Json preprocessor_config(const nn::ModelShape& shape);

}  // namespace bora::run
