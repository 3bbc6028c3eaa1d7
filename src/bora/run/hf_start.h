// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Starting from the weights of a Hugging Face directory: what the directory and the `model` block say must
// agree.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bora/models/model_types.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// The model that a run with `initialize_from_hf: directory` trains. `given`: the `model` block. With
/// `use_theirs` (use_hf_model_config) the sizes and options are those of the directory's config.json, and
/// only what belongs to the training, gradient_checkpointing, is the block's; otherwise the block counts and
/// must have the sizes of the directory. Errors: Config with every difference; NotFound and Unsupported for a
/// directory that cannot be read.
std::shared_ptr<models::ModelConfig> config_to_start_from(const std::string& directory,
                                                          const std::shared_ptr<models::ModelConfig>& given,
                                                          bool use_theirs);

/// What becomes of a model to begin with that is not there, or of a type that there is not.
enum class MissingModel {
  Refused,   ///< a Config error
  Recorded,  ///< one of the problems of the result, to be told with all others (preflight.h)
};

/// load_config, with the model that such a run trains: the one that its data, caches, name and plan are for.
/// Of a model of the hub initialize_from_hf becomes the folder in its cache, without the weights so far.
/// Errors: those of both.
LoadedConfig load_run(const std::vector<std::string>& paths,
                      const std::vector<std::pair<std::string, std::string>>& overrides,
                      MissingModel missing = MissingModel::Refused);

}  // namespace bora::run
