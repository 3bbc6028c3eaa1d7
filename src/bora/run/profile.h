// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "bora/mesh/communicator.h"
#include "bora/train/config.h"

namespace bora::run {

/// A timeline of all workers (bora/base/trace.h) from here to write_timeline: each is a process of it, time 0
/// is where all have met. Collective.
void begin_timeline(mesh::Communicator& workers);
/// Into a file that the first worker writes. Collective.
void write_timeline(mesh::Communicator& workers, const std::string& path);

/// trainer.profiler: a timeline of the steps from start_step on, num_steps of them, as far as this run makes
/// them.
class Profile {
 public:
  Profile(const train::ProfilerConfig& config, std::string run_directory,
          std::shared_ptr<mesh::Communicator> workers);

  /// Between steps, `next` being the one that comes: begins the recording or ends it. Collective.
  void at_boundary(std::int64_t next);
  /// After the last step. Collective.
  void finish();

  /// The file once it is written: trace-step-N.json, N the first step; else empty.
  const std::string& written() const { return written_; }

 private:
  train::ProfilerConfig config_;
  std::string run_directory_;
  std::shared_ptr<mesh::Communicator> workers_;
  std::int64_t first_ = -1;  // step of the recording; -1: none
  std::string written_;
};

}  // namespace bora::run
