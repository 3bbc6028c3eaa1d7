// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hooks/replicas.h"

#include <fmt/core.h>

#include "bora/base/env.h"
#include "bora/core/host_view.h"
#include "bora/mesh/replica_check.h"

namespace bora::run {

void ReplicaGuard::after_step(std::int64_t done) {
  if (every_ == 0) return;
  flip_for_test(done);
  if (done % every_ == 0) compare(done);
}

void ReplicaGuard::before_checkpoint(std::int64_t done) {
  if (every_ > 0 && done != compared_) compare(done);
}

void ReplicaGuard::compare(std::int64_t done) {
  std::vector<core::HostView> values;
  std::vector<mesh::Replica> replicas;
  for (const auto& p : parameters_) {
    values.emplace_back(*p.array, core::HostView::Use::read);
    replicas.push_back({p.path, values.back().bytes()});
  }
  workers_.activity(fmt::format("step {}: comparing replicas", done));
  mesh::require_equal_replicas(workers_, replicas, fmt::format("after step {}", done));
  compared_ = done;
}

// "1@7": worker 1 gets a flipped bit after 7 steps, once the run has begun before that.
void ReplicaGuard::flip_for_test(std::int64_t done) const {
  const auto wish = env::for_tests("BORA_TEST_FLIP_BIT");
  if (!wish || *wish != fmt::format("{}@{}", workers_.rank(), done) || parameters_.empty()) return;
  core::HostView(*parameters_.back().array, core::HostView::Use::update).bytes()[5] ^= std::byte{1};
}

Replicas::Replicas(Session& session) {
  auto& model = session.model();
  const auto every = session.config().trainer.check_replicas_every;
  guards_.emplace_back(*model.mesh().lanes(), model.replicas(), every);
  if (model.mesh().shape().expert > 1)
    guards_.emplace_back(*model.sharded()->workers_of_experts(), model.replicas_of_experts(), every);
  if (model.mesh().shape().workers_per_lane() > 1)
    guards_.emplace_back(session.workers(), model.replicas_everywhere(), every);
}

void Replicas::after_step(const train::StepResult& result) {
  for (auto& guard : guards_) guard.after_step(result.step + 1);
}

void Replicas::before_checkpoint(std::int64_t step) {
  for (auto& guard : guards_) guard.before_checkpoint(step);
}

}  // namespace bora::run
