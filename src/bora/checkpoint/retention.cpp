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

}  // namespace

SavePolicy::SavePolicy(const CheckpointerConfig& config, double now, std::int64_t start_step)
    : config_(config), last_time_(now), last_step_(start_step) {}

bool SavePolicy::keeps(std::int64_t step) const {
  const auto rule = std::find_if(config_.keep.begin(), config_.keep.end(),
                                 [&](const KeepConfig& keep) { return !keep.until || *keep.until >= step; });
  return rule != config_.keep.end() && step % rule->every == 0;
}

SaveDecision SavePolicy::decide(std::int64_t step, double now, RunEnd end) const {
  if (step == last_step_ || step == 0) return SaveDecision::None;
  if (end == RunEnd::Finished || keeps(step)) return SaveDecision::Permanent;
  const bool due =
      end == RunEnd::Stopped || (config_.save_interval && now - last_time_ >= config_.save_interval->seconds);
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
