// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The types of trackers that come with Bora, with Levanter's keys.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"
#include "bora/track/tracker_type.h"

namespace bora::track {

/// Read and checked; the metrics go to metrics.jsonl, and it is announced.
struct WandbConfig : TrackerType {
  std::optional<std::string> entity, project, name, id, group, mode, resume;
  std::vector<std::string> tags;
  std::optional<std::string> save_code;
  void bind(Binder& b);
  std::unique_ptr<Tracker> make(const TrackedRun& run) const override;
};

struct TensorboardConfig : TrackerType {
  std::string logdir = "tblogs";  ///< the run id is appended
  std::string filename_suffix;
  std::optional<std::int64_t> purge_step;  ///< unset: the step at which the run resumes
  bool write_to_disk = true;
  void bind(Binder& b);
  std::unique_ptr<Tracker> make(const TrackedRun& run) const override;
};

/// As wandb.
struct TrackioConfig : TrackerType {
  std::string project = "levanter";
  std::optional<std::string> name;
  void bind(Binder& b);
  std::unique_ptr<Tracker> make(const TrackedRun& run) const override;
};

/// metrics.jsonl is one already.
struct JsonLoggerConfig : TrackerType {
  std::string logger_name = "levanter.json_logger";
  void bind(Binder& b);
  std::unique_ptr<Tracker> make(const TrackedRun& run) const override;
};

struct NoTrackerConfig : TrackerType {
  void bind(Binder&) {}
  std::unique_ptr<Tracker> make(const TrackedRun& run) const override;
};

}  // namespace bora::track
