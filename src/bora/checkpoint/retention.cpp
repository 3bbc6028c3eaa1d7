// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/retention.h"

#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/checkpoint.h"

namespace bora::checkpoint {
namespace {

// Like verify_checkpoint without reading the data, which takes too long for every pruning.
bool looks_valid(const std::string& checkpoint) {
  try {
    const Manifest manifest = read_manifest(checkpoint);
    return std::all_of(manifest.files.begin(), manifest.files.end(), [&](const FileRecord& file) {
      const auto info = files().info(path_join(checkpoint, file.name));
      return info && info->size == file.size;
    });
  } catch (const Error&) {
    return false;
  }
}

// Read again just before removal: somebody may have made it permanent.
bool is_temporary(const std::string& checkpoint) {
  try {
    return read_manifest(checkpoint).temporary;
  } catch (const Error&) {
    return false;  // damaged: for a person to look at
  }
}

std::string until_text(const std::optional<std::int64_t>& until) {
  return until ? std::to_string(*until) : "null";
}

}  // namespace

void KeepConfig::bind(Binder& b) {
  b.field("every", every, "steps between permanent checkpoints");
  b.field("until", until, "the last step of this rule; null: for good");
  if (b.reading() && every < 1) b.problem("every", "must be at least 1");
}

void CheckpointerConfig::bind(Binder& b) {
  b.field("base_path", base_path, "where runs keep their checkpoints");
  b.field("save_interval", save_interval, "time between temporary checkpoints; null: none");
  b.field("keep", keep, "permanent checkpoints: every N steps, until a step");
  b.field("append_run_id_to_base_path", append_run_id_to_base_path, "a directory for each run");
  b.field("delete_old_temp_checkpoints", delete_old_temp_checkpoints,
          "temporary checkpoints of earlier attempts at this run are removed too");
  if (!b.reading()) return;
  if (save_interval && save_interval->seconds < 0) b.problem("save_interval", "must not be negative");
  for (std::size_t i = 1; i < keep.size(); ++i) {
    const auto before = keep[i - 1].until, here = keep[i].until;
    if (!before || (here && *here <= *before)) {
      b.problem("keep",
                fmt::format("rules must have rising until, only the last may have none; {} is followed by {}",
                            until_text(before), until_text(here)));
    }
  }
}

std::string CheckpointerConfig::run_directory(const std::string& run_id) const {
  return append_run_id_to_base_path ? path_join(base_path, run_id) : base_path;
}

SavePolicy::SavePolicy(const CheckpointerConfig& config, double now, std::int64_t start_step)
    : config_(config), last_time_(now), last_step_(start_step) {}

bool SavePolicy::keeps(std::int64_t step) const {
  const auto rule = std::find_if(config_.keep.begin(), config_.keep.end(),
                                 [&](const KeepConfig& keep) { return !keep.until || *keep.until >= step; });
  return rule != config_.keep.end() && step % rule->every == 0;
}

SaveDecision SavePolicy::decide(std::int64_t step, double now, bool force) const {
  if (step == last_step_ || step == 0) return SaveDecision::None;
  if (force || keeps(step)) return SaveDecision::Permanent;
  const bool due = config_.save_interval && now - last_time_ >= config_.save_interval->seconds;
  return due ? SaveDecision::Temporary : SaveDecision::None;
}

void SavePolicy::saved(std::int64_t step, double now) {
  last_step_ = step;
  last_time_ = now;
}

std::vector<std::int64_t> prune(const std::string& run_directory, const std::vector<std::int64_t>& spared) {
  auto checkpoints = committed_checkpoints(run_directory);
  while (!checkpoints.empty() && !looks_valid(checkpoints.back())) checkpoints.pop_back();
  if (!checkpoints.empty()) checkpoints.pop_back();  // the newest valid one
  std::vector<std::int64_t> removed;
  for (const std::string& checkpoint : checkpoints) {
    const std::int64_t step = *step_of_name(base_name(checkpoint));
    if (std::find(spared.begin(), spared.end(), step) != spared.end() || !is_temporary(checkpoint)) continue;
    remove_checkpoint(checkpoint);
    removed.push_back(step);
  }
  return removed;
}

}  // namespace bora::checkpoint
