// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"
#include "bora/track/tracker.h"

namespace bora::track {

/// W&B, as in Levanter. Read and checked; the metrics go to metrics.jsonl.
struct WandbConfig {
  std::optional<std::string> entity, project, name, id, group, mode, resume;
  std::vector<std::string> tags;
  std::optional<std::string> save_code;
  void bind(Binder& b);
};

struct TensorboardConfig {
  std::string logdir = "tblogs";  ///< the run id is appended
  std::string filename_suffix;
  std::optional<std::int64_t> purge_step;  ///< unset: the step at which the run resumes
  bool write_to_disk = true;
  void bind(Binder& b);
};

struct TrackioConfig {
  std::string project = "levanter";
  std::optional<std::string> name;
  void bind(Binder& b);
};

struct JsonLoggerConfig {
  std::string logger_name = "levanter.json_logger";
  void bind(Binder& b);
};

/// One entry of trainer.tracker: `type` and the fields of that type. Without a type it is wandb, as in
/// Levanter.
struct TrackerConfig {
  std::string type = "wandb";
  WandbConfig wandb;
  TensorboardConfig tensorboard;
  TrackioConfig trackio;
  JsonLoggerConfig json_logger;
  void bind(Binder& b);
};

/// The run, as trackers need to know it.
struct TrackedRun {
  std::string directory;  ///< where metrics.jsonl goes
  std::string id;
  std::int64_t first_step = 0;  ///< 0, or where the run resumes
};

/// metrics.jsonl always, and what the configuration asks for. A tracker that cannot start is left out with a
/// warning; one that Bora has not is announced once and covered by metrics.jsonl. Only metrics.jsonl itself
/// must be writable: Io.
std::unique_ptr<Tracker> make_tracker(const std::vector<TrackerConfig>& configs, const TrackedRun& run);

}  // namespace bora::track
