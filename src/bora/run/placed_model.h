// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The model of a run, wherever its workers keep it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/checkpoint/checkpoint.h"
#include "bora/core/parameter_store.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/sharded_parameters.h"
#include "bora/nn/language_model_interface.h"
#include "bora/run/adapters.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Makes the model of a configuration on the workers of a run: whole on each, in shards on those that compute
/// different lanes (trainer.fsdp_axis), on those that share a lane (the axes model and context), or both.
/// While it lives, this thread's operations follow its mesh. All calls are collective.
class PlacedModel {
 public:
  /// Config errors: a mesh of another number of workers, axes that cannot be cut.
  PlacedModel(const LoadedConfig& loaded, std::shared_ptr<mesh::Communicator> world, std::int64_t vocab);

  nn::LanguageModel& operator*() { return *model_; }
  nn::LanguageModel* operator->() { return model_.get(); }
  const mesh::Mesh& mesh() const { return *mesh_; }
  mesh::ShardedParameters* sharded() { return sharded_.get(); }  ///< null: whole on each lane's workers
  /// Some parameter is in shards.
  bool distributed() const { return sharded_ != nullptr || mesh_->mapping() != nullptr; }
  ParameterCounts counts() const;
  /// Embeddings of the Hugging Face model that it began with, where they were not as many as `vocab`: rows
  /// beyond them are their mean, rows too many were left out.
  std::optional<std::int64_t> stored_vocab() const { return stored_vocab_; }
  /// "4 workers (data 2 × model 2), parameters sharded over data"; "" for one.
  std::string describe_workers() const;

  /// This worker's shards of all parameters: what checkpoints hold, and what optimizers work on of those that
  /// are trained.
  std::vector<core::Parameter> parameters();
  /// Those that all workers of different lanes hold alike; those that all of them with the same experts do; and
  /// those that all workers do.
  std::vector<core::Parameter> replicas();
  std::vector<core::Parameter> replicas_of_experts();
  std::vector<core::Parameter> replicas_everywhere();

  /// Says of arrays to be restored which shards they are.
  void mark_blocks(std::vector<checkpoint::CheckpointArray>& arrays) const;
  /// Whole arrays in place of shards; each worker keeps about as many bytes as the others, to write them.
  void assemble(checkpoint::CheckpointContent& content) const;

  /// Worker 0 runs `use`, which may ask for the whole values of one parameter after the other; the others
  /// give what they hold until it ends.
  void lend_values(const std::function<void(const WholeValues&)>& use);

  /// Runs `use`, on all workers, with positions whole on each of them, as a text that grows token by token
  /// needs it; parameters stay where they are, and come and go as in a forward pass.
  void with_whole_positions(const std::function<void()>& use);

 private:
  void make(const LoadedConfig& loaded, std::int64_t vocab);
  void load_hugging_face(const std::string& from);
  core::Array whole_array(std::size_t i, const core::Array& block, int lane) const;
  std::vector<core::Parameter> replicas_of(bool experts);

  std::unique_ptr<mesh::Mesh> mesh_;
  std::optional<core::MappingScope> mapping_scope_;
  std::unique_ptr<mesh::ShardedParameters> sharded_;
  std::optional<core::ParameterStoreScope> store_scope_;
  std::unique_ptr<nn::LanguageModel> model_;
  std::vector<core::Parameter> model_parameters_;
  std::optional<std::int64_t> stored_vocab_;
};

}  // namespace bora::run
