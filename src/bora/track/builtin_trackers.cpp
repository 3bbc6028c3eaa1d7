// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/builtin_trackers.h"

#include "bora/base/file.h"
#include "bora/base/home_path.h"
#include "bora/base/log.h"
#include "bora/track/tensorboard_tracker.h"

namespace bora::track {
namespace {

constexpr std::string_view kNotUsed =
    "belongs to a service that Bora does not "
    "write to; metrics.jsonl has the metrics";

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

// A service that Bora does not write to.
std::unique_ptr<Tracker> announce(std::string_view type, const TrackedRun& run) {
  log_info("tracker {}: not built yet; metrics go to {}", type, path_join(run.directory, "metrics.jsonl"));
  return nullptr;
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
  bind_path(b, "logdir", logdir, "directory of event files; the run id is appended");
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

std::unique_ptr<Tracker> WandbConfig::make(const TrackedRun& run) const { return announce("wandb", run); }
std::unique_ptr<Tracker> TrackioConfig::make(const TrackedRun& run) const { return announce("trackio", run); }
std::unique_ptr<Tracker> JsonLoggerConfig::make(const TrackedRun&) const { return nullptr; }
std::unique_ptr<Tracker> NoTrackerConfig::make(const TrackedRun&) const { return nullptr; }

std::unique_ptr<Tracker> TensorboardConfig::make(const TrackedRun& run) const {
  if (!write_to_disk) return nullptr;
  TensorboardOptions options;
  options.directory = path_join(logdir, run.id);
  options.run_id = run.id;
  options.first_step = purge_step.value_or(run.first_step);
  options.filename_suffix = filename_suffix;
  return std::make_unique<TensorboardTracker>(std::move(options));
}

}  // namespace bora::track
