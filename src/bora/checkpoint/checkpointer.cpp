// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/checkpointer.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"

namespace bora::checkpoint {
namespace {

// What several workers have written of a save that failed takes room. Of other files in the directory some are just being
// written.
void remove_parts(const std::string& directory, std::int64_t step) try {
  for (const auto& name : files().list(directory))
    if (name.starts_with(fmt::format(".{}.tmp-", checkpoint_name(step))))
      remove_all(path_join(directory, name));
} catch (const Error&) {  // the next start removes them
}

}  // namespace

Checkpointer::Checkpointer(const CheckpointerConfig& config, const std::string& run_directory,
                           SaveOptions options, Clock clock)
    : config_(config),
      lock_(run_directory),
      clock_(std::move(clock)),
      policy_(config, clock_()),
      writer_(run_directory, options) {
  clean_leftovers(run_directory);
  if (config.delete_old_temp_checkpoints) return;
  for (const auto& path : committed_checkpoints(run_directory))
    spared_.push_back(*step_of_name(base_name(path)));
}

std::optional<Restored> Checkpointer::restore(std::span<const CheckpointArray> parameters,
                                              std::span<const CheckpointArray> optimizer,
                                              const RestoreOptions& options) {
  wait();
  auto restored = restore_latest(run_directory(), parameters, optimizer, options);
  policy_ = SavePolicy(config_, clock_(), restored ? restored->manifest.step : 0);
  return restored;
}

SaveDecision Checkpointer::on_step(std::int64_t step, const std::function<CheckpointContent()>& content,
                                   RunEnd end) {
  SaveDecision decision = policy_.decide(step, clock_(), end);
  tell_failure();
  const bool again = (decision != SaveDecision::None || end != RunEnd::None) && settle_failure();
  if (again && decision == SaveDecision::None)  // this very step, perhaps
    decision = end == RunEnd::Finished ? SaveDecision::Permanent : SaveDecision::Temporary;
  if (decision != SaveDecision::None) {
    CheckpointContent what = content();
    what.step = step;
    what.temporary = decision == SaveDecision::Temporary;
    stall_ = writer_.save(what, [this, step](const Manifest&) { after_commit(step); });
    total_stall_ += stall_.total();
    policy_.saved(step, clock_());
    last_saved_ = step;
    failure_is_told_ = false;
  }
  if (again || end != RunEnd::None) wait();
  // Saved by time, or by a stop, at this very step: now it is to stay.
  const std::string path = path_join(run_directory(), checkpoint_name(step));
  if (end == RunEnd::Finished && decision == SaveDecision::None && exists(path)) make_permanent(path);
  return decision;
}

// At once, however far the next save is.
void Checkpointer::tell_failure() {
  const auto why = writer_.failure();
  if (why.empty() || failure_is_told_) return;
  failure_is_told_ = true;
  log_warning("{} was not saved ({}); the next save writes the state as it is then",
              checkpoint_name(last_saved_), why);
}

bool Checkpointer::settle_failure() {
  writer_.join();
  tell_failure();
  if (writer_.settle().empty()) return false;
  remove_parts(run_directory(), last_saved_);
  return true;
}

void Checkpointer::wait() { writer_.wait(); }

// Pruning is housekeeping: its failure must not look like a failed save.
void Checkpointer::after_commit(std::int64_t step) {
  try {
    prune(run_directory(), spared_);
  } catch (const Error& e) {
    log_warning("after {}: an old temporary checkpoint was not removed: {}", checkpoint_name(step), e.what());
  }
}

}  // namespace bora::checkpoint
