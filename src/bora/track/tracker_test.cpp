// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/track/tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "bora/base/error.h"
#include "bora/base/fault_files.h"
#include "bora/base/file.h"
#include "bora/base/log.h"
#include "bora/track/jsonl_tracker.h"
#include "bora/track/tracker_config.h"

namespace bora::track {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string fresh_directory(const std::string& name) {
  const auto path = path_join(testing::TempDir(), "bora_track_" + name);
  remove_all(path);
  return path;
}

JsonlOptions jsonl_options(const std::string& directory, std::int64_t first_step = 0) {
  return {.directory = directory, .first_step = first_step, .wall_clock = [] { return 1000.5; }};
}

std::vector<Metric> metrics_of(std::int64_t step) {
  return {{"train/loss", 10.0 / (1 + static_cast<double>(step))},
          {"throughput/duration", 0.25},
          {"optim/learning_rate", 3e-4}};
}

TEST(MetricNames, SpeedsAndTimesAreNotDeterministic) {
  for (const auto* name : {"train/loss", "optim/learning_rate", "eval/paloma/bpb", "mixture/stage",
                           "grad/norm/total", "run_progress", "global_step"}) {
    EXPECT_TRUE(is_deterministic_metric(name)) << name;
  }
  for (const auto* name : {"throughput/mfu", "memory/peak", "eval/loading_time", "eval/total_time",
                           "timing/first_step", "step_duration", "system/cpu", "data/wait_seconds"}) {
    EXPECT_FALSE(is_deterministic_metric(name)) << name;
  }
}

TEST(Jsonl, WhatAnEndWroteIsWrittenAnew) {
  const auto dir = fresh_directory("ends_again");
  for (int start = 0; start < 3; ++start) {
    auto options = jsonl_options(dir, start == 0 ? 0 : 2);
    options.ends_again = start == 1;  // the last one is extended
    JsonlTracker tracker(options);
    for (std::int64_t step = start == 0 ? 0 : 2; step < 2; ++step) tracker.log(step, metrics_of(step));
    if (start == 2) continue;
    tracker.log(1, std::vector<Metric>{{"eval/loss", 3.0 + start}});
    tracker.log_text(1, "sample/a", start == 0 ? "first" : "second");
  }
  EXPECT_EQ(read_text(path_join(dir, "metrics.jsonl")),
            "{\"step\":0,\"train/loss\":10,\"optim/learning_rate\":0.0003}\n"
            "{\"step\":1,\"train/loss\":5,\"optim/learning_rate\":0.0003}\n"
            "{\"step\":1,\"eval/loss\":4}\n");
  EXPECT_EQ(read_text(path_join(dir, "text.jsonl")),
            "{\"step\":1,\"name\":\"sample/a\",\"text\":\"second\"}\n");
}

TEST(Jsonl, WritesDeterministicMetricsApartFromTimes) {
  const auto dir = fresh_directory("apart");
  JsonlTracker tracker(jsonl_options(dir));
  tracker.log(0, metrics_of(0));
  tracker.log(1, std::vector<Metric>{{"throughput/mfu", 64}});
  tracker.log(2, std::vector<Metric>{{"eval/\"x\"/loss", 1.0 / 3}});
  EXPECT_EQ(read_text(path_join(dir, "metrics.jsonl")),
            "{\"step\":0,\"train/loss\":10,\"optim/learning_rate\":0.0003}\n"
            "{\"step\":2,\"eval/\\\"x\\\"/loss\":0.3333333333333333}\n");
  EXPECT_EQ(read_text(path_join(dir, "timing.jsonl")),
            "{\"step\":0,\"time\":1000.5,\"throughput/duration\":0.25}\n"
            "{\"step\":1,\"time\":1000.5,\"throughput/mfu\":64}\n");
  tracker.finish();
}

TEST(Jsonl, NumbersReadBackAsTheSameBits) {
  for (double value : {0.1, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 4.2109999656677246, 123456789.0}) {
    EXPECT_EQ(parse_json("[" + json_number(value) + "]", "x")[0].get<double>(), value);
  }
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(NAN), "\"NaN\"");
  EXPECT_EQ(json_number(INFINITY), "\"Infinity\"");
  EXPECT_EQ(json_number(-INFINITY), "\"-Infinity\"");
}

TEST(Jsonl, WritesTextHistogramSummaryAndHyperparameters) {
  const auto dir = fresh_directory("rest");
  JsonlTracker tracker(jsonl_options(dir));
  tracker.log_text(7, "samples/0", "two\nlines \xFF");
  tracker.log_histogram(7, "grad/hist/w",
                        {.min = -1, .max = 2, .count = 3, .limits = {0, 2}, .counts = {1, 2}});
  tracker.log_summary(std::vector<Metric>{{"b", 1}, {"a", 2}});
  tracker.log_summary(std::vector<Metric>{{"b", 3}});
  tracker.log_hyperparameters(Json{{"model", {{"type", "llama"}}}});
  tracker.finish();
  EXPECT_EQ(read_text(path_join(dir, "text.jsonl")),
            "{\"step\":7,\"name\":\"samples/0\",\"text\":\"two\\nlines \xEF\xBF\xBD\"}\n");
  EXPECT_EQ(read_text(path_join(dir, "metrics.jsonl")),
            "{\"step\":7,\"grad/hist/w\":{\"min\":-1,\"max\":2,\"limits\":[0,2],\"counts\":[1,2]}}\n");
  EXPECT_EQ(read_text(path_join(dir, "summary.json")), "{\n  \"a\": 2,\n  \"b\": 3\n}\n");
  EXPECT_EQ(parse_json(read_text(path_join(dir, "hyperparameters.json")), "h")["model"]["type"], "llama");
}

TEST(Jsonl, ResumedFileEqualsThatOfAnUninterruptedRun) {
  const auto whole = fresh_directory("whole"), resumed = fresh_directory("resumed");
  const auto run = [](const std::string& dir, std::int64_t from, std::int64_t to) {
    JsonlTracker tracker(jsonl_options(dir, from));
    for (auto step = from; step < to; ++step) {
      tracker.log(step, metrics_of(step));
      if (step % 4 == 0) tracker.log_text(step, "samples/0", "text");
    }
    tracker.finish();
  };
  run(whole, 0, 20);
  run(resumed, 0, 13);
  run(resumed, 9, 20);  // the checkpoint was older than the metrics
  for (const auto* name : {"metrics.jsonl", "timing.jsonl", "text.jsonl"}) {
    EXPECT_EQ(read_text(path_join(resumed, name)), read_text(path_join(whole, name))) << name;
  }
  run(whole, 0, 3);  // a fresh start leaves nothing behind
  EXPECT_THAT(read_text(path_join(whole, "metrics.jsonl")), Not(HasSubstr("\"step\":3")));
}

TEST(Jsonl, CutsATornLastLine) {
  const auto dir = fresh_directory("torn");
  files().make_directories(dir);
  const auto path = path_join(dir, "metrics.jsonl");
  for (const std::string torn : {"{\"step\":2,\"train/l", "{\"step\":2,\"train/loss\":1}", "{", ""}) {
    const auto file = files().create(path);
    file->write(as_bytes("{\"step\":0,\"train/loss\":3}\n{\"step\":1,\"train/loss\":2}\n" + torn));
    file->close();
    JsonlTracker tracker(jsonl_options(dir, 5));
    tracker.log(5, std::vector<Metric>{{"train/loss", 0}});
    EXPECT_EQ(
        read_text(path),
        "{\"step\":0,\"train/loss\":3}\n{\"step\":1,\"train/loss\":2}\n{\"step\":5,\"train/loss\":0}\n");
  }
}

TEST(Jsonl, NoLineIsLostOrTornWhenAWriteFails) {
  for (std::int64_t n = 2; n <= 12; ++n) {  // the first operation is the opening
    const auto dir = fresh_directory("full");
    JsonlTracker tracker(jsonl_options(dir));
    FaultFiles broken(files(), {.nth = n, .short_write = true});
    {
      ScopedFileSystem scope(broken);
      JsonLines lines(path_join(dir, "x.jsonl"), 0);
      for (int step = 0; step < 4; ++step) {
        try {
          lines.append(fmt::format("{{\"step\":{}}}", step));
        } catch (const Error&) {
        }
      }
      try {
        lines.close();
      } catch (const Error&) {
        lines.close();
      }
    }
    EXPECT_EQ(read_text(path_join(dir, "x.jsonl")),
              "{\"step\":0}\n{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n")
        << n;
  }
}

struct FailingTracker : Tracker {
  explicit FailingTracker(int& asked_) : asked(asked_) {}
  std::string_view name() const override { return "failing"; }
  void log(std::int64_t, std::span<const Metric>) override {
    ++asked;
    fail(ErrorKind::Io, "quota exceeded");
  }
  int& asked;
};

TEST(Composite, AFailingTrackerWarnsOnceAndStopsNothing) {
  int asked = 0;
  const auto dir = fresh_directory("composite");
  CompositeTracker::Trackers list;
  list.push_back(std::make_unique<FailingTracker>(asked));
  list.push_back(std::make_unique<JsonlTracker>(jsonl_options(dir)));
  CompositeTracker tracker(std::move(list));
  testing::internal::CaptureStderr();
  for (int step = 0; step < 3; ++step) tracker.log(step, metrics_of(step));
  tracker.finish();
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "bora: warning: tracker failing: quota exceeded (training goes on; this is said once)\n");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(tracker.failures(), 3);
  EXPECT_THAT(read_text(path_join(dir, "metrics.jsonl")), HasSubstr("\"step\":2"));
}

TrackerConfig events_in(std::string directory) {
  TensorboardConfig config;
  config.logdir = std::move(directory);
  return {.type = "tensorboard", .config = config};
}

TEST(MakeTracker, AnnouncesWhatIsNotBuilt) {
  const auto dir = fresh_directory("make");
  const TrackerConfig wandb, tensorboard = events_in(path_join(dir, "tb"));
  testing::internal::CaptureStderr();
  const auto tracker = make_tracker({wandb, tensorboard}, {.directory = dir, .id = "otter", .first_step = 0});
  tracker->log(0, metrics_of(0));
  tracker->finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "bora: tracker wandb: not built yet; metrics go to " + path_join(dir, "metrics.jsonl") + "\n");
  EXPECT_EQ(files().list(path_join(dir, "tb/otter")).size(), 1);
}

TEST(MakeTracker, GoesOnWithoutATrackerThatCannotStart) {
  const auto dir = fresh_directory("cannot");
  files().make_directories(dir);
  write_atomically(path_join(dir, "file"), "x");
  const auto tensorboard = events_in(path_join(dir, "file/below"));
  testing::internal::CaptureStderr();
  const auto tracker = make_tracker({tensorboard}, {.directory = dir, .id = "otter"});
  tracker->log(0, metrics_of(0));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("(the run goes on without it)"));
  EXPECT_TRUE(exists(path_join(dir, "metrics.jsonl")));
}

TEST(Trackers, TellNobodyWhatIsSecret) {
  const auto dir = fresh_directory("secret");
  const auto tensorboard = events_in(path_join(dir, "events"));
  const auto tracker = make_tracker({tensorboard}, {dir, "run", 0});
  tracker->log_hyperparameters({{"config", "urls: [\"https://h/a?token=CANARY\"]"},
                                {"nested", {{"list", {"https://me:CANARY@h/b", 3}}}}});
  tracker->log(0, metrics_of(0));
  tracker->log_text(0, "sample", "see https://h/a?CANARY");
  tracker->log_summary(metrics_of(0));
  tracker->finish();
  int looked_at = 0;
  for (const auto& folder : {dir, path_join(dir, "events/run")}) {
    for (const auto& name : files().list(folder)) {
      const auto path = path_join(folder, name);
      if (files().info(path)->is_directory) continue;
      ++looked_at;
      EXPECT_THAT(read_text(path), Not(HasSubstr("CANARY"))) << path;
      struct stat out {};
      ASSERT_EQ(stat(path.c_str(), &out), 0);
      EXPECT_EQ(out.st_mode & 0777, 0600U) << path;
    }
  }
  EXPECT_EQ(looked_at, 6);
  EXPECT_THAT(read_text(path_join(dir, "hyperparameters.json")), HasSubstr("https://<redacted>@h/b"));
}

// A tracker as a user's own program would have it: it keeps the metrics for who asks.
struct Kept {
  std::vector<Metric> metrics;
  std::string run;
};
Kept kept;

struct KeepingConfig : TrackerType {
  std::string only;
  void bind(Binder& b) { b.field("only", only, "the metric to keep; empty: all of them"); }
  std::unique_ptr<Tracker> make(const TrackedRun& run) const override {
    struct Keeping final : Tracker {
      explicit Keeping(std::string wanted) : only(std::move(wanted)) {}
      std::string_view name() const override { return "keeping"; }
      void log(std::int64_t, std::span<const Metric> metrics) override {
        for (const auto& m : metrics)
          if (only.empty() || m.name == only) kept.metrics.push_back(m);
      }
      std::string only;
    };
    kept = {{}, run.id};
    return std::make_unique<Keeping>(only);
  }
};

struct TrackerFile {
  std::vector<TrackerConfig> trackers;
  void bind(Binder& b) { b.field("trackers", trackers, "some"); }
};

std::vector<std::string> read_trackers(const std::string& yaml, TrackerFile& file) {
  ConfigTree tree;
  tree.merge_text(yaml, "my.yaml");
  std::vector<std::string> lines;
  for (const auto& p : read_config(tree, file)) lines.push_back(p.where + " " + p.key + " " + p.message);
  return lines;
}

TEST(TrackerTypes, OneFromOutside) {
  const auto before = tracker_types();
  tracker_types().add("keeping", {"keeps what it gets", KeepingConfig()});
  TrackerFile file;
  EXPECT_THAT(read_trackers("trackers:\n  - {type: keeping, only: train/loss}\n", file), testing::IsEmpty());
  const auto tracker = make_tracker(file.trackers, {fresh_directory("own"), "otter", 0});
  const std::vector<Metric> metrics = {{"train/loss", 2.5}, {"optim/learning_rate", 0.1}};
  tracker->log(0, metrics);
  EXPECT_EQ(kept.run, "otter");
  EXPECT_THAT(kept.metrics, testing::ElementsAre(Metric{"train/loss", 2.5}));
  EXPECT_EQ(write_config(file), "trackers:\n  - type: keeping\n    only: train/loss\n");
  TrackerFile wrong;
  EXPECT_THAT(read_trackers("trackers:\n  - {type: keepin}\n  - {type: keeping, onli: x}\n", wrong),
              testing::ElementsAre("my.yaml:2 trackers.0.type = keepin keepin is not "
                                   "known; did you mean "
                                   "`keeping`?; available: wandb, tensorboard, "
                                   "trackio, json_logger, noop, keeping",
                                   "my.yaml:3 trackers.1.onli unknown key; did you "
                                   "mean trackers.1.only?"));
  tracker_types() = before;
}

}  // namespace
}  // namespace bora::track
