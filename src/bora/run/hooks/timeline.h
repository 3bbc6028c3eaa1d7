// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>

#include "bora/mesh/communicator.h"
#include "bora/run/session.h"

namespace bora::run {

/// A timeline of all workers (bora/base/trace.h) from here to write_timeline: each is a process of it, time 0
/// is where all have met. Collective.
void begin_timeline(mesh::Communicator& workers);
/// Into a file that rank 0 writes. Collective.
void write_timeline(mesh::Communicator& workers, const std::string& path);

/// trainer.profiler: a timeline of the steps from start_step on, num_steps of them, as far as this start
/// makes them, in trace-step-N.json, N the first step.
class Timeline final : public Hook {
 public:
  explicit Timeline(Session& session) : session_(session), config_(session.config().trainer.profiler) {}
  void begin() override { at_boundary(session_.trainer().next_step()); }
  void after_step(const train::StepResult& result) override { at_boundary(result.step + 1); }
  void end(train::Outcome outcome) override;

 private:
  void at_boundary(std::int64_t next);
  void finish();

  Session& session_;
  train::ProfilerConfig config_;
  std::int64_t first_ = -1;  // step of the recording; -1: none
  std::string written_;
};

}  // namespace bora::run
