// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/tracker_config.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/track/jsonl_tracker.h"
#include "bora/track/tensorboard_tracker.h"

namespace bora::track {
namespace {

constexpr std::string_view kNotUsed =
    "belongs to a service that Bora does not write to; metrics.jsonl has the metrics";

/// A field that may be a bool or a word.
void bind_text(Binder& b, std::string_view name, std::optional<std::string>& value, std::string_view doc) {
  if (!b.reading() || b.is_null(name)) return b.field(name, value, doc);
  if (!b.present(name)) return;
  const auto text = b.text(name);
  b.mark_used(name);
  if (text)
    value = *text;
  else
    b.problem(name, "should be true, false or a word");
}

std::unique_ptr<Tracker> make_tensorboard(const TensorboardConfig& config, const TrackedRun& run) {
  TensorboardOptions options;
  options.directory = path_join(config.logdir, run.id);
  options.run_id = run.id;
  options.first_step = config.purge_step.value_or(run.first_step);
  options.filename_suffix = config.filename_suffix;
  return std::make_unique<TensorboardTracker>(std::move(options));
}

}  // namespace

void WandbConfig::bind(Binder& b) {
  b.field("entity", entity, "user or team");
  b.field("project", project, "project of the run");
  b.field("name", name, "name shown for the run");
  b.field("tags", tags, "tags of the run");
  b.field("id", id, "run id; also the run's id in Bora unless trainer.id or RUN_ID is set");
  b.field("group", group, "group of runs");
  b.field("mode", mode, "online, offline or disabled");
  bind_text(b, "resume", resume, "allow, must, never, auto, true or false");
  bind_text(b, "save_code", save_code, "true, false or a directory");
  b.ignored("save_xla_dumps", "Bora does not use XLA");
}

void TensorboardConfig::bind(Binder& b) {
  b.field("logdir", logdir, "directory of event files; the run id is appended");
  b.ignored("comment", "the run id names the directory");
  b.field("purge_step", purge_step, kNonNegative,
          "viewers drop values from this step on; default: where the run resumes");
  b.ignored("max_queue", "every event is written at once");
  b.ignored("flush_secs", "every event is written at once");
  b.field("filename_suffix", filename_suffix, "end of the file name");
  b.field("write_to_disk", write_to_disk, "false: no files");
}

void TrackioConfig::bind(Binder& b) {
  b.field("project", project, "project of the run");
  b.field("name", name, "name shown for the run");
  for (const auto* key : {"space_id", "dataset_id", "config", "mode", "resume"}) b.ignored(key, kNotUsed);
}

void JsonLoggerConfig::bind(Binder& b) {
  b.field("logger_name", logger_name, "name of the logger in Levanter");
  b.ignored("level", "metrics.jsonl holds every metric");
}

void TrackerConfig::bind(Binder& b) {
  b.choice("type", type, {"wandb", "tensorboard", "trackio", "json_logger", "noop"},
           "where metrics go besides metrics.jsonl");
  if (type == "wandb")
    wandb.bind(b);
  else if (type == "tensorboard")
    tensorboard.bind(b);
  else if (type == "trackio")
    trackio.bind(b);
  else if (type == "json_logger")
    json_logger.bind(b);
}

std::unique_ptr<Tracker> make_tracker(const std::vector<TrackerConfig>& configs, const TrackedRun& run) {
  CompositeTracker::Trackers trackers;
  trackers.push_back(std::make_unique<JsonlTracker>(JsonlOptions{run.directory, run.first_step}));
  for (const auto& config : configs) {
    if (config.type == "tensorboard") {
      if (!config.tensorboard.write_to_disk) continue;
      try {
        trackers.push_back(make_tensorboard(config.tensorboard, run));
      } catch (const Error& e) {
        log_warning("tracker tensorboard: {} (the run goes on without it)", e.what());
      }
    } else if (config.type == "wandb" || config.type == "trackio") {
      log_info("tracker {}: not built yet; metrics go to {}", config.type,
               path_join(run.directory, "metrics.jsonl"));
    }
  }
  return std::make_unique<CompositeTracker>(std::move(trackers));
}

}  // namespace bora::track
