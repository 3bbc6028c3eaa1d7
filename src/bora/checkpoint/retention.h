// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"

namespace bora::checkpoint {

/// Permanent checkpoints at multiples of `every`, up to and with step `until`.
struct KeepConfig {
  std::int64_t every = 10000;
  std::optional<std::int64_t> until;
  bool operator==(const KeepConfig&) const = default;
  void bind(Binder& b);
};

/// Levanter's `trainer.checkpointer` block.
struct CheckpointerConfig {
  std::string base_path = "checkpoints/";
  std::optional<Duration> save_interval = Duration{15 * 60};  ///< null: no temporary checkpoints
  std::vector<KeepConfig> keep = {KeepConfig{}};
  bool append_run_id_to_base_path = true;
  bool delete_old_temp_checkpoints = true;
  void bind(Binder& b);

  std::string run_directory(const std::string& run_id) const;
};

enum class SaveDecision { None, Temporary, Permanent };

/// What may demand a save, whatever the rules say: the run goes on later (a signal), or it is at its end.
enum class RunEnd { None, Stopped, Finished };

/// When to save: permanent ones by step, temporary ones by time, as in Levanter. Never at step 0, never twice
/// at a step.
class SavePolicy {
 public:
  /// `now` in seconds of any steady clock. `start_step`: the step that the run resumes from.
  SavePolicy(const CheckpointerConfig& config, double now, std::int64_t start_step = 0);

  /// After `step` steps. The end of the run is permanent; a stop is temporary, unless the rules keep its
  /// step.
  SaveDecision decide(std::int64_t step, double now, RunEnd end = RunEnd::None) const;
  /// A save has begun: the clock of temporary ones starts anew.
  void saved(std::int64_t step, double now);

  /// Whether the rules keep a checkpoint of that step.
  bool keeps(std::int64_t step) const;

 private:
  CheckpointerConfig config_;
  double last_time_;
  std::int64_t last_step_;
};

/// Removes temporary checkpoints of the run directory that are older than its newest valid one; that one,
/// permanent ones, and those with a step in `spared` stay. "Valid": manifest intact, files of the right size.
/// Returns the steps removed.
std::vector<std::int64_t> prune(const std::string& run_directory,
                                const std::vector<std::int64_t>& spared = {});

}  // namespace bora::checkpoint
