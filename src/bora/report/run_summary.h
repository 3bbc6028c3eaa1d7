// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bora::report {

/// A run in a line, from the files of its directory (docs/formats/run_directory.md).
struct RunSummary {
  std::string name, directory;
  /// running, finished, stopped, failed, killed (it said nothing at its end), or unknown (a run of an older
  /// program).
  std::string state;
  std::string reason;                           ///< why it stopped or failed; may be empty
  std::int64_t step = 0;                        ///< steps done
  std::optional<std::int64_t> num_train_steps;  ///< of the whole run
  std::optional<double> loss;                   ///< the newest, nats a token
  std::optional<double> tokens_per_second;      ///< the median of its last steps
  double changed = 0;                           ///< when it last wrote, seconds since the epoch
  std::string next;                             ///< the command that comes next
};

/// Whether the directory is one of a run.
bool is_run(const std::string& directory);
/// Where runs lie as a rule: recipes put them into `runs`, a configuration without a base_path into `checkpoints`.
const std::vector<std::string>& usual_run_folders();
/// The run in one of these that a name without its folder means; empty: none.
std::string meant_run(const std::string& name);
/// Errors: NotFound where it is none, with what lists them.
void require_run(const std::string& directory);
RunSummary summarize(const std::string& run_directory);

/// Of every run in some folders, newest first. NotFound if there is no such folder.
std::vector<RunSummary> runs_in(const std::vector<std::string>& folders);

/// A table for terminals: run, state, step, loss, tokens a second, age at the time `now`, what comes next.
std::string runs_table(const std::vector<RunSummary>& runs, double now);
/// The same as a JSON array, numbers in full.
std::string runs_json(const std::vector<RunSummary>& runs);

}  // namespace bora::report
