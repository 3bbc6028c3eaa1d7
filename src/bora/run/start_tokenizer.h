// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Weights go on with the tokenizer that they were trained with: by another one the same ids are other pieces.
#pragma once
#include <optional>
#include <string>

#include "bora/base/config.h"
#include "bora/run/lm_config.h"
#include "bora/run/open_model.h"
#include "bora/run/run_place.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::run {

/// The first id that both have and that stands for another piece of text in each: "id 300 is "dream" there and "fall"
/// here"; "" if there is none. One with more pieces, or with other names of special tokens, is none of another kind.
std::string first_other_piece(const Tokenizer& theirs, const Tokenizer& ours);

/// Why a run's tokenizer is not the one beside the weights that it begins with; nothing where there is none beside
/// them, or it begins with new ones. `ours`: none where it is still to be trained; that is the same one where the
/// weights are of a run that trained its own with the same settings on the same files, as far as is known before.
/// `accepted`: --accept_changes has been given, so that it is no advice any more.
std::optional<ConfigProblem> other_tokenizer(const LmConfig& config, const std::optional<Tokenizer>& ours,
                                             bool accepted);

/// The tokenizer of a configuration, where it is here and need not be trained first.
std::optional<Tokenizer> tokenizer_of(const data::DataConfig& data, const RunPlace& place);

/// Where a model is used with texts of a configuration that has another tokenizer, the model's takes its place, and the
/// texts' tokens are kept in a folder that is called by it: never among those of the other. Caches of ids stay. Returns
/// what to say of that; "": it is the same one.
std::string take_tokenizer_of(const OpenedModel& model, const RunPlace& place, data::DataConfig& data);

}  // namespace bora::run
