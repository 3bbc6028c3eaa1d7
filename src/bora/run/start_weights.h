// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The checkpoint whose weights a run begins with, or goes on from: which it is, and whether they fit.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bora/base/json.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/restore.h"
#include "bora/nn/language_model_interface.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Those of `parameters` whose values come from the checkpoint of another run: all of them, or, where that has no
/// adapters, those that are none. Config error for other adapters than the model's.
std::vector<checkpoint::CheckpointArray> arrays_to_start_with(
    nn::LanguageModel& model, const std::string& checkpoint,
    std::vector<checkpoint::CheckpointArray> parameters);

/// The model that adapters are for where they are put on what is in `from`: that itself, or, where it is a run or a
/// checkpoint that has adapters, the model that these are for. "": nobody knows.
std::string base_of_adapters(std::string from);
/// The same of a run's adapters. What the run began with may be gone when it goes on: then its own record counts.
std::string base_of_adapters(const LmConfig& config, const std::string& run_directory);

/// What a run of this configuration cannot take from a checkpoint: the first array whose shape is another there, with
/// both. Empty: everything fits. Reads no values. `vocab`: none where the tokenizer is still to be trained; then that
/// of the checkpoint counts.
std::string misfit(const LmConfig& config, std::optional<std::int64_t> vocab, const std::string& checkpoint,
                   bool begins);

/// What a checkpoint says of its model (state.json); null where it says nothing.
Json model_of_checkpoint(const std::string& checkpoint);

/// How two descriptions of models differ in what they compute, key by key in the words of config.json: "rope_theta is 500.0
/// here and 10000.0 there". Names, sizes of the vocabulary, shorter sequences, how weights begin, and what concerns
/// training alone are left out.
std::vector<std::string> other_function(const Json& here, const Json& there);

/// How the adapters of a run differ from those of the checkpoint that it goes on from; "": they do not.
std::string other_adapters(const LmConfig& config, std::optional<std::int64_t> vocab,
                           const std::string& checkpoint);

/// The same of the optimizer's state, which a run that goes on takes up.
std::string misfit_of_state(const LmConfig& config, std::optional<std::int64_t> vocab,
                            const std::string& checkpoint);

/// The checkpoint that a start goes on from.
struct NewestCheckpoint {
  std::optional<checkpoint::VerifiedCheckpoint> whole;  ///< none: there is none
  std::vector<std::string> damaged;                     ///< what is wrong with newer ones, newest first
};
/// As restore_latest finds it, hashes and all, but it sets nothing aside.
NewestCheckpoint newest_whole_checkpoint(const std::string& run_directory);

}  // namespace bora::run
