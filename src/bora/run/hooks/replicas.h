// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/run/session.h"

namespace bora::run {

/// Compares the parameters that several workers hold whole, every so many steps and before each checkpoint,
/// so that no checkpoint is written of a run in which a bit has flipped. Calls are collective.
class ReplicaGuard {
 public:
  /// `parameters`: those that all of `workers` hold alike. every 0: never.
  ReplicaGuard(mesh::Communicator& workers, std::vector<core::Parameter> parameters, std::int64_t every)
      : workers_(workers), parameters_(std::move(parameters)), every_(every) {}

  /// After so many steps. Stopped (mesh::require_equal_replicas) where workers differ.
  void after_step(std::int64_t done);
  void before_checkpoint(std::int64_t done);

 private:
  void compare(std::int64_t done);
  void flip_for_test(std::int64_t done) const;

  mesh::Communicator& workers_;
  std::vector<core::Parameter> parameters_;
  std::int64_t every_, compared_ = -1;
};

/// trainer.check_replicas_every: a guard for what all workers of different lanes hold alike, and one for what
/// all workers do.
class Replicas final : public Hook {
 public:
  explicit Replicas(Session& session);
  void after_step(const train::StepResult& result) override;
  void before_checkpoint(std::int64_t step);

 private:
  std::vector<ReplicaGuard> guards_;
};

}  // namespace bora::run
