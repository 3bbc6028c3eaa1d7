// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bora/base/clock.h"
#include "bora/checkpoint/async_writer.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/retention.h"
#include "bora/checkpoint/run_lock.h"

namespace bora::checkpoint {

/// The checkpoints of one run: owns its directory (a second process is refused), removes what a crash left
/// there, restores the newest valid one, saves by the rules in the background, and removes temporary ones
/// that are no longer needed.
///
///     Checkpointer checkpointer(config.checkpointer, config.checkpointer.run_directory(run_id));
///     if (auto restored = checkpointer.restore(parameters, optimizer)) step = restored->manifest.step;
///     ... after each step:
///     checkpointer.on_step(step, [&] { return content; }, step == last ? RunEnd::Finished : RunEnd::None);
///     checkpointer.wait();
class Checkpointer {
 public:
  using Clock = std::function<double()>;
  Checkpointer(const CheckpointerConfig& config, const std::string& run_directory, SaveOptions options = {},
               Clock clock = monotonic_seconds);

  const std::string& run_directory() const { return lock_.run_directory(); }

  /// Makes room for the snapshots of `content`, before training begins.
  void prepare(const CheckpointContent& content) { writer_.reserve(view_of(content).tensor_bytes()); }

  /// restore_latest of the run directory; saving goes on from there.
  std::optional<Restored> restore(std::span<const CheckpointArray> parameters,
                                  std::span<const CheckpointArray> optimizer,
                                  const RestoreOptions& options = {});

  /// Saves if the rules or the end of the run say so (the end: waits until it is written); `content` is
  /// called only then. Returns what was decided. Where an earlier save in the background has failed, a warning says so
  /// at the next step, and the next save, or the end, writes the state as it is then and waits for it; only if that fails
  /// too its error is thrown.
  SaveDecision on_step(std::int64_t step, const std::function<CheckpointContent()>& content,
                       RunEnd end = RunEnd::None);
  void wait();

  SaveStall last_stall() const { return stall_; }
  double total_stall_seconds() const { return total_stall_; }
  double last_write_seconds() const { return writer_.last_write_seconds(); }  ///< after wait()

 private:
  void after_commit(std::int64_t step);
  void tell_failure();
  bool settle_failure();

  CheckpointerConfig config_;
  RunLock lock_;
  Clock clock_;
  SavePolicy policy_;
  std::vector<std::int64_t> spared_;  // temporary ones of earlier attempts, if they are to stay
  SaveStall stall_;
  double total_stall_ = 0;
  std::int64_t last_saved_ = 0;  // the step
  bool failure_is_told_ = false;
  AsyncWriter writer_;  // last: its thread uses the rest
};

}  // namespace bora::checkpoint
