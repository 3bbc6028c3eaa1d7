// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/tracker_config.h"

#include "bora/base/error.h"
#include "bora/base/log.h"
#include "bora/track/jsonl_tracker.h"

namespace bora::track {
namespace {

using Types = Registry<ConfigType<TrackerType>>;

constexpr const char* kNotSent = ": read and checked; nothing is sent, metrics.jsonl has the metrics";

// A line for each.
Types builtin() {
  Types types("tracker");
  types.add("wandb", {std::string("Weights & Biases") + kNotSent, WandbConfig()});
  types.add("tensorboard", {"event files that TensorBoard shows", TensorboardConfig()});
  types.add("trackio", {std::string("Trackio") + kNotSent, TrackioConfig()});
  types.add("json_logger", {std::string("Levanter's log of JSON") + kNotSent, JsonLoggerConfig()});
  types.add("noop", {"nothing beside metrics.jsonl", NoTrackerConfig()});
  return types;
}

}  // namespace

Types& tracker_types() {
  static Types types = builtin();
  return types;
}

void TrackerConfig::bind(Binder& b) {
  if (bind_type(b, type, config, tracker_types(), "where metrics go besides metrics.jsonl")) config.bind(b);
}

std::unique_ptr<Tracker> make_tracker(const std::vector<TrackerConfig>& configs, const TrackedRun& run) {
  CompositeTracker::Trackers trackers;
  trackers.push_back(
      std::make_unique<JsonlTracker>(JsonlOptions{run.directory, run.first_step, run.ends_again}));
  for (const auto& config : configs) {
    try {
      if (auto tracker = config.config->make(run)) trackers.push_back(std::move(tracker));
    } catch (const Error& e) {
      log_warning("tracker {}: {} (the run goes on without it)", config.type, e.what());
    }
  }
  return std::make_unique<CompositeTracker>(std::move(trackers));
}

}  // namespace bora::track
