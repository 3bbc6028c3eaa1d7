// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Into how many lanes a run cuts its batches.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bora/mesh/mesh.h"
#include "bora/train/config.h"

namespace bora::run {

struct RunLanes {
  enum class From { configuration, record, workers };
  std::int64_t number = 1;
  From from = From::workers;
};

/// What an earlier start of the run in a directory has written.
struct RecordedLanes {
  std::optional<std::int64_t>
      checkpoint;                     ///< of the newest checkpoint: what the run so far was computed with
  std::optional<std::int64_t> start;  ///< of run.json
};
RecordedLanes recorded_lanes(const std::string& run_directory);

/// trainer.lanes; else what the run has had since its first start; else what `shape` needs (see
/// train::resolve_lanes). A start without a checkpoint that has too few for the workers counts for nothing.
RunLanes choose_lanes(const train::TrainerConfig& config, std::int64_t seq_len, const mesh::MeshShape& shape,
                      const RecordedLanes& recorded);

/// Config error if there are fewer lanes than groups of workers that compute different ones: `who` ("3
/// workers were started") and what is possible.
void require_lanes(const RunLanes& lanes, const train::TrainerConfig& config, const mesh::MeshShape& shape,
                   std::string_view who);

}  // namespace bora::run
