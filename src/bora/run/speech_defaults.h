// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <set>
#include <string>

#include "bora/run/transcribe.h"

namespace bora::run {

/// What `transformers` takes of a model of speech where the user says nothing: language, task, return_timestamps,
/// num_beams, length_penalty and max_new_tokens, or max_length, of generation_config.json. Where neither the user nor
/// the file says language or task, forced_decoder_ids of older files are the prompt. `given`: flags that stay what
/// they are ("--task"). Returns what was taken and where from, for people: "language de of
/// MODEL/generation_config.json"; "": nothing that changes a text. Errors: Corruption, with file and key, for what the
/// model does not have; those of require_speech and speech_tokens.
std::string take_speech_defaults(const OpenedModel& opened, const std::set<std::string>& given,
                                 TranscribeOptions& options);

}  // namespace bora::run
