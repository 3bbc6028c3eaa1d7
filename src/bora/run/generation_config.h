// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// How a model's texts begin and end: generation_config.json, as `transformers` keeps it beside a model.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// generation_config.json of a model or run directory, whole; without one, what its config.json says of
/// bos_token_id, eos_token_id and pad_token_id, and of models of speech decoder_start_token_id, suppress_tokens
/// and begin_suppress_tokens; without either, an empty object. forced_decoder_ids are also read from config.json where
/// the first file has none. What the tokenizer says is
/// added: its end to the ends (a list where they are several), its beginning and its padding where none is
/// named. Ids that the vocabulary does not have are left out. Errors: Corruption for ids that are none.
Json generation_of(const std::string& directory, const std::optional<Tokenizer>& tokenizer,
                   std::int64_t vocab_size);

/// Any of these ends a text: eos_token_id, a number or a list.
std::vector<std::int32_t> stop_ids(const Json& generation);

/// Takes generation_config.json of the model that a run begins with into the run's directory, which ends up
/// with none if `from` has nothing to say, or if the run's tokenizer is another one: its ids would mean
/// something else.
void keep_generation(const std::string& from, const Tokenizer& tokenizer, const std::string& run);

}  // namespace bora::run
