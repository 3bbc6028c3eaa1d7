// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bora/checkpoint/async_writer.h"
#include "bora/checkpoint/checkpointer.h"
#include "bora/run/session.h"

namespace bora::run {

/// The checkpoints of a run: restores the newest one, saves after steps as the rules say, and at the end.
class Checkpoints final : public Hook {
 public:
  /// Rank 0 opens the run's directory. Errors: Config where trainer.load_checkpoint is false beside checkpoints.
  explicit Checkpoints(Session& session);

  /// Goes on from the newest valid checkpoint, or begins with the weights that the configuration names.
  /// Collective. NotFound where trainer.load_checkpoint is true and there is none. `verified`: what this start has
  /// verified of it already, or null.
  void restore(const checkpoint::VerifiedCheckpoint* verified);
  /// Called before what is saved: whatever has to hold of the parameters at this step. Collective.
  void add_check(std::function<void(std::int64_t step)> check) { checks_.push_back(std::move(check)); }

  void begin() override;
  void after_step(const train::StepResult& result) override;
  void end(train::Outcome outcome) override;

  double last_write_seconds() const { return checkpointer_ ? checkpointer_->last_write_seconds() : 0; }

 private:
  using Arrays = std::span<const checkpoint::CheckpointArray>;
  std::optional<checkpoint::Restored> restore_newest(Arrays parameters, Arrays optimizer,
                                                     const checkpoint::VerifiedCheckpoint* verified);
  void go_on(const Json& state);
  void save(checkpoint::RunEnd end);
  void follow(checkpoint::RunEnd end);
  void check(std::int64_t step);
  checkpoint::CheckpointContent content();
  checkpoint::CheckpointContent content_to_save();

  Session& session_;
  std::vector<std::function<void(std::int64_t)>> checks_;
  std::unique_ptr<checkpoint::Checkpointer> checkpointer_;  // of rank 0
  std::unique_ptr<checkpoint::AsyncWriter> part_writer_;    // of the others, where parameters are sharded
};

}  // namespace bora::run
