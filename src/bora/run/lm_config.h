// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The configuration of `bora train`: Levanter's TrainLmConfig and a few keys of our own.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"
#include "bora/data/config.h"
#include "bora/models/model_types.h"
#include "bora/optim/optimizer_types.h"
#include "bora/run/lora_config.h"
#include "bora/train/config.h"

namespace bora::run {

/// The `model` block: `type` chooses the architecture, the rest belongs to it. Default type: llama, as in
/// Levanter.
struct ModelField {
  std::shared_ptr<models::ModelConfig> config = models::make_model_config("llama");
  void bind(Binder& b);
};

/// Texts to continue at the end of a run.
struct SampleConfig {
  std::vector<std::string> prompts;
  std::int64_t max_new_tokens = 60;
  double temperature = 0.8;
  void bind(Binder& b);
};

struct LmConfig {
  data::DataConfig data;
  ModelField model;
  train::TrainerConfig trainer;
  optim::OptimizerChoice optimizer;
  std::optional<LoraConfig> lora;  ///< train adapters in the place of the model

  std::string initialize_from_hf;  ///< a directory or a name on the hub; empty: new weights
  bool use_hf_model_config = false;
  std::optional<std::string> initialize_from_checkpoint_path;
  double z_loss_weight = 0;
  std::optional<std::string> hf_save_path;
  std::optional<std::string> peft_save_path;
  std::int64_t hf_save_steps = 10000;  ///< with lora 1000, as in Levanter
  std::string hf_save_dtype = "f32";
  bool hf_export = false;  ///< write <run>/hf at the end
  std::optional<std::int64_t> data_seed;
  std::int64_t epoch = 0;
  std::optional<std::int64_t> cross_entropy_chunk;
  SampleConfig sample;

  /// initialize_from_checkpoint_path, or trainer.initialize_from.
  const std::optional<std::string>& checkpoint_to_start_from() const;

  void bind(Binder& b);
};

/// What is too large in a configuration whose every number is in its range: tokens of a lane, and of the run.
/// (With the model that it holds now, which may have come from elsewhere.)
std::vector<ConfigProblem> size_problems(const LmConfig& config);

/// The directory, of Hugging Face or of a run, whose weights a run begins with; "" if it begins with new ones.
std::string model_to_start_from(const LmConfig& config);

/// What decides a training, with everything else at its default: names and places, trackers, checkpoints and
/// exports, samples, evaluation, the number of steps, and when and how fast it runs. A run is called by it, so
/// that it can be extended and evaluated otherwise. With as many steps, equal ones train the same parameters.
LmConfig training_part(const LmConfig& config);
/// By which runs were called before evaluation and the number of steps were left out.
LmConfig older_training_part(const LmConfig& config);

/// A configuration read from files and overrides.
struct LoadedConfig {
  ConfigTree tree;
  LmConfig config;
  std::vector<ConfigProblem> problems;  ///< that a start will be told with all others: load_run's Missing
  std::vector<std::string> warnings;    ///< of keys that are without effect
  bool is_incomplete = false;           ///< what could not be read stands in it with other values
  std::string name;                     ///< "quickstart" for recipes/quickstart.yaml
  std::string first_file;
  std::string command;  ///< its files and overrides, as a shell takes them: "a.yaml --trainer.seed=1"
};

/// A configuration with every default, to be read again: of the tokenizer that it trains and the one that it would load
/// it names the first alone.
std::string resolved_text(const LmConfig& config);

/// Where tokens are kept without data.cache_dir. Configurations that make other tokens of the same texts do not meet in one
/// folder: it is called by the tokenizer and by a hash of what decides the tokens. A tokenizer that is trained depends on
/// the texts, too.
std::string cache_folder_of(const data::DataConfig& data);

/// What becomes of a configuration that cannot be read as it is.
enum class WrongConfig {
  Refused,   ///< a Config error with every problem
  Recorded,  ///< it is in the result with the others', so that what it does not concern can be looked at
};

/// Reads files (later ones win) and overrides. Every problem is collected; then one Config error with them
/// all.
LoadedConfig load_config(const std::vector<std::string>& paths,
                         const std::vector<std::pair<std::string, std::string>>& overrides,
                         WrongConfig wrong = WrongConfig::Refused);

}  // namespace bora::run
