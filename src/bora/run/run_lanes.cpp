// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/run_lanes.h"

#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/run/run_record.h"

namespace bora::run {
namespace {

// A damaged manifest is for the restore to tell.
std::optional<std::int64_t> of_newest_checkpoint(const std::string& run_directory) {
  const auto all = checkpoint::committed_checkpoints(run_directory);
  for (auto path = all.rbegin(); path != all.rend(); ++path) {
    try {
      const auto lanes = checkpoint::read_manifest(*path).lanes;
      if (lanes > 0) return lanes;
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

std::string count(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

RecordedLanes recorded_lanes(const std::string& run_directory) {
  return {of_newest_checkpoint(run_directory), lanes_of_record(run_directory)};
}

RunLanes choose_lanes(const train::TrainerConfig& config, std::int64_t seq_len, const mesh::MeshShape& shape,
                      const RecordedLanes& recorded) {
  if (config.lanes) return {*config.lanes, RunLanes::From::configuration};
  if (recorded.checkpoint) return {*recorded.checkpoint, RunLanes::From::record};
  if (recorded.start && *recorded.start >= shape.lane_groups())
    return {*recorded.start, RunLanes::From::record};
  const auto batch = config.batch_schedule().batch_size(0);
  return {train::resolve_lanes(batch, seq_len, shape.lane_groups()), RunLanes::From::workers};
}

void require_lanes(const RunLanes& lanes, const train::TrainerConfig& config, const mesh::MeshShape& shape,
                   std::string_view who) {
  if (lanes.number >= shape.lane_groups()) return;
  const auto batch = config.batch_schedule().batch_size(0);
  const auto most = count(lanes.number * shape.workers_per_lane(), "worker");
  switch (lanes.from) {
    case RunLanes::From::configuration:
      fail(ErrorKind::Config,
           "{}, but the batch of {} sequences is cut into {} (trainer.lanes)\nhint: at most {}, or more "
           "lanes: "
           "another number of lanes is another run",
           who, batch, count(lanes.number, "lane"), most);
    case RunLanes::From::record:
      fail(
          ErrorKind::Config,
          "{}, but the run has had {} since its first start\nhint: at most {}, or --fresh, which starts over "
          "with a lane for each",
          who, count(lanes.number, "lane"), most);
    case RunLanes::From::workers:
      fail(ErrorKind::Config,
           "{}, but the batch of {} sequences can be cut into {} at most: the largest power of two that "
           "divides "
           "it\nhint: at most {}, or a trainer.train_batch_size that a larger one divides",
           who, batch, count(lanes.number, "lane"), most);
  }
}

}  // namespace bora::run
