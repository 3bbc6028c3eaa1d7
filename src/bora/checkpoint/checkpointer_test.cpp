// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/checkpoint/checkpointer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "bora/base/fault_files.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using test::error_of;
using test::Folder;
using test::TinyRun;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;

CheckpointerConfig config(std::optional<double> interval, std::vector<KeepConfig> keep) {
  CheckpointerConfig c;
  c.save_interval.reset();
  if (interval) c.save_interval = Duration{*interval};
  c.keep = std::move(keep);
  return c;
}

const std::vector<KeepConfig> kChanging = {{2, 10}, {5, 20}, {10, std::nullopt}};

std::vector<std::int64_t> steps_in(const std::string& directory) {
  std::vector<std::int64_t> out;
  for (const auto& path : committed_checkpoints(directory)) out.push_back(*step_of_name(base_name(path)));
  return out;
}

// A run with a clock that the test turns.
struct Trainer {
  Trainer(const CheckpointerConfig& c, const std::string& directory, double& now)
      : checkpointer(c, directory, {}, [&now] { return now; }) {}
  void step(std::int64_t step, RunEnd end = RunEnd::None) {
    checkpointer.on_step(step, [&] { return run.content(step); }, end);
    checkpointer.wait();
  }
  TinyRun run{1};
  Checkpointer checkpointer;
};

TEST(SavePolicy, ChangingRules) {
  SavePolicy policy(config({}, kChanging), 0);
  std::vector<std::int64_t> saved;
  for (std::int64_t step = 0; step < 50; ++step) {
    if (policy.decide(step, 0) == SaveDecision::None) continue;
    EXPECT_EQ(policy.decide(step, 0), SaveDecision::Permanent);
    saved.push_back(step);
    policy.saved(step, 0);
    EXPECT_EQ(policy.decide(step, 0, RunEnd::Finished), SaveDecision::None);  // not twice
  }
  EXPECT_THAT(saved, ElementsAre(2, 4, 6, 8, 10, 15, 20, 30, 40));
}

TEST(SavePolicy, NeverAtStepZeroNorWhereItResumed) {
  EXPECT_EQ(SavePolicy(config(1.0, {}), 0).decide(0, 100, RunEnd::Finished), SaveDecision::None);
  EXPECT_EQ(SavePolicy(config({}, {{5, {}}}), 0, 10).decide(10, 0), SaveDecision::None);
  EXPECT_EQ(SavePolicy(config({}, {{5, {}}}), 0, 10).decide(15, 0), SaveDecision::Permanent);
}

TEST(SavePolicy, TheEndIsPermanentEvenWhenTimeHasCome) {
  EXPECT_EQ(SavePolicy(config(10.0, {}), 0).decide(1, 20, RunEnd::Finished), SaveDecision::Permanent);
  EXPECT_EQ(SavePolicy(config(10.0, {}), 0).decide(1, 20), SaveDecision::Temporary);
  EXPECT_EQ(SavePolicy(config(10.0, {}), 0).decide(1, 9), SaveDecision::None);
}

TEST(SavePolicy, AStopIsTemporaryUnlessTheRulesKeepIt) {
  EXPECT_EQ(SavePolicy(config({}, {}), 0).decide(1, 0, RunEnd::Stopped), SaveDecision::Temporary);
  EXPECT_EQ(SavePolicy(config({}, {{5, {}}}), 0).decide(4, 0, RunEnd::Stopped), SaveDecision::Temporary);
  EXPECT_EQ(SavePolicy(config({}, {{5, {}}}), 0).decide(5, 0, RunEnd::Stopped), SaveDecision::Permanent);
  EXPECT_EQ(SavePolicy(config({}, {}), 0).decide(0, 0, RunEnd::Stopped), SaveDecision::None);
}

TEST(Retention, TemporalPolicy) {
  Folder folder;
  double now = 0;
  Trainer t(config(10.0, {}), folder.path(), now);
  t.step(0);
  now += 10;
  t.step(1);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(1));
  now += 9;
  t.step(2);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(1));
  now += 1;
  t.step(3);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(3));
}

TEST(Retention, MixedPolicy) {
  Folder folder;
  double now = 0;
  Trainer t(config(10.0, kChanging), folder.path(), now);
  t.step(0);
  now += 10;
  t.step(1);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(1));
  now += 9;
  t.step(2);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2));
  now += 1;
  t.step(3);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2));
  for (std::int64_t step = 4; step < 11; ++step) {
    now += 10;
    t.step(step);
  }
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2, 4, 6, 8, 10));
  now += 9;
  t.step(11);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2, 4, 6, 8, 10));
  for (std::int64_t step = 12; step < 50; ++step) {
    t.step(step);
    now += 10;
  }
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2, 4, 6, 8, 10, 15, 20, 30, 40, 49));
}

TEST(Retention, ALaterAttemptRemovesTheTemporaryOnesOfTheFirst) {
  Folder folder;
  double now = 0;
  const std::vector<KeepConfig> rules = {{5, 20}, {10, std::nullopt}};
  {
    Trainer t(config(10.0, rules), folder.path(), now);
    t.step(0);
    now += 10;
    for (std::int64_t step = 1; step < 6; ++step) t.step(step);
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(5));
    now += 10;
    t.step(6);
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(5, 6));
  }
  {
    Trainer t(config(10.0, rules), folder.path(), now);
    t.step(7);
    now += 10;
    t.step(8);
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(5, 8));
  }
  auto keeping = config(10.0, {{20, std::nullopt}});
  keeping.delete_old_temp_checkpoints = false;
  Trainer t(keeping, folder.path(), now);
  t.step(9);
  now += 10;
  t.step(10);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(5, 8, 10));
}

TEST(Retention, PruningNeverRemovesTheNewestValidOne) {
  Folder folder;
  const TinyRun run(1);
  for (const std::int64_t step : {1, 2, 3}) save_checkpoint(folder.path(), run.content(step, true));
  write_file(folder / "step-3/state.json", "");
  EXPECT_THAT(prune(folder.path()), ElementsAre(1));
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2, 3));
  write_file(folder / "step-2/manifest.json", "");
  EXPECT_THAT(prune(folder.path()), ElementsAre());  // none is known to be good: nothing goes
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(2, 3));
}

TEST(Retention, PermanentOnesStayWhateverComesAfterThem) {
  Folder folder;
  double now = 0;
  {
    Trainer t(config({}, {}), folder.path(), now);
    t.step(3, RunEnd::Finished);
  }
  Trainer t(config(10.0, {}), folder.path(), now);
  EXPECT_TRUE(t.checkpointer.restore(t.run.parameters(), t.run.optimizer()));
  for (std::int64_t step = 4; step < 8; ++step) {
    now += 10;
    t.step(step);
  }
  t.step(8, RunEnd::Stopped);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(3, 8));
}

TEST(Retention, AFailureWhilePruningLeavesTheNewestOne) {
  const TinyRun run(1);
  for (std::int64_t n = 1;; ++n) {
    Folder folder;
    for (const std::int64_t step : {1, 2, 3}) save_checkpoint(folder.path(), run.content(step, true));
    FaultFiles broken(files(), {.nth = n, .error_number = EIO, .stays_broken = true});
    {
      ScopedFileSystem scope(broken);
      error_of([&] { prune(folder.path()); });
    }
    TinyRun live(2);
    const auto restored = restore_latest(folder.path(), live.parameters(), live.optimizer());
    ASSERT_TRUE(restored);
    EXPECT_EQ(restored->manifest.step, 3);
    clean_leftovers(folder.path());
    prune(folder.path());
    EXPECT_THAT(files().list(folder.path()), ElementsAre("step-3"));
    if (!broken.fired()) break;
  }
}

TEST(Checkpointer, ResumesAndGoesOn) {
  Folder folder;
  double now = 0;
  const auto c = config({}, {{5, std::nullopt}});
  {
    Trainer t(c, folder.path(), now);
    EXPECT_FALSE(t.checkpointer.restore(t.run.parameters(), t.run.optimizer()));
    for (std::int64_t step = 1; step <= 7; ++step) t.step(step, step == 7 ? RunEnd::Stopped : RunEnd::None);
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(5, 7));
  }
  Trainer t(c, folder.path(), now);
  t.run = TinyRun(2);
  const auto restored = t.checkpointer.restore(t.run.parameters(), t.run.optimizer());
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->manifest.step, 7);
  EXPECT_TRUE(t.run.equals(TinyRun(1)));
  t.step(7);
  t.step(10);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(5, 10));  // the stop's is needed no more
}

TEST(Checkpointer, TheLastStepStaysEvenIfItWasSavedByTime) {
  Folder folder;
  double now = 0;
  Trainer t(config(10.0, {}), folder.path(), now);
  now += 10;
  t.step(3);
  EXPECT_TRUE(read_manifest(folder / "step-3").temporary);
  t.step(3, RunEnd::Stopped);
  EXPECT_TRUE(read_manifest(folder / "step-3").temporary);
  t.step(3, RunEnd::Finished);
  EXPECT_FALSE(read_manifest(folder / "step-3").temporary);
}

TEST(Checkpointer, CleansUpAfterACrash) {
  Folder folder;
  files().make_directories(folder / ".step-9.tmp-1-0");
  double now = 0;
  Trainer t(config({}, {}), folder.path(), now);
  EXPECT_THAT(files().list(folder.path()), ElementsAre(".lock"));
}

TEST(RunLock, ASecondProcessIsRefusedByName) {
  Folder folder;
  auto first = std::make_unique<RunLock>(folder / "run");
  const std::string error = error_of([&] { RunLock second(folder / "run"); });
  EXPECT_THAT(error, testing::MatchesRegex(
                         ".*/run: in use by process [0-9]+ on [^ ]+ since [0-9TZ:-]+\n"
                         "hint: wait until it ends, stop it, or choose another run id .trainer.id."));
  first.reset();
  EXPECT_EQ(error_of([&] { RunLock second(folder / "run"); }), "no error");
}

TEST(RunLock, AStartThatFailsLeavesNoRun) {
  Folder folder;
  { const RunLock lock(folder / "runs/new"); }
  EXPECT_FALSE(exists(folder / "runs/new"));
  {
    const RunLock lock(folder / "runs/new");
    write_file(folder / "runs/new/run.json", "{}");
  }
  EXPECT_THAT(files().list(folder / "runs/new"), testing::ElementsAre(".lock", "run.json"));
  files().make_directories(folder / "runs/there");
  { const RunLock lock(folder / "runs/there"); }
  EXPECT_TRUE(exists(folder / "runs/there")) << "it was there before";
}

TEST(RunLock, AHolderThatHasNotWrittenItsNameYet) {
  Folder folder;
  const RunLock first(folder.path());
  write_file(folder / ".lock", "");
  EXPECT_THAT(error_of([&] { RunLock second(folder.path()); }), HasSubstr("in use by another process\n"));
}

TEST(AsyncWriter, WritesWhatTheArraysHeldAtTheCall) {
  Folder folder;
  TinyRun run(1);
  AsyncWriter writer(folder.path());
  const SaveStall stall = writer.save(run.content(1));
  for (const auto& array : run.arrays) std::memset(array.array.data<float>(), 0, 4);  // training goes on
  writer.wait();
  EXPECT_GE(stall.total(), 0);
  TinyRun live(2);
  restore_checkpoint(folder / "step-1", live.parameters(), live.optimizer());
  EXPECT_TRUE(live.equals(TinyRun(1)));
  EXPECT_EQ(writer.snapshot_bytes(), 4u * 2 * (320 + 8));
}

TEST(Checkpointer, AFailedSaveTakesNoLaterOneWithIt) {
  Folder folder;
  double now = 0;
  Trainer t(config({}, {{2, {}}}), folder.path(), now);
  const auto step = [&](std::int64_t n, RunEnd end = RunEnd::None) {
    t.checkpointer.on_step(n, [&] { return t.run.content(n); }, end);
  };
  const auto block = [&](const std::string& name) {
    files().make_directories(folder / name);
    write_file(folder / (name + "/x"), "in the way");
  };
  testing::internal::CaptureStderr();
  block("step-2");
  step(2);
  step(4);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(4)) << "written before on_step returns";
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: step-2 was not saved (while saving step-2: "));
  block("step-6");
  step(6);
  EXPECT_THAT(error_of([&] { step(6, RunEnd::Finished); }), HasSubstr("step-6 exists"));
  block("step-8");
  step(8);
  EXPECT_THAT(error_of([&] { t.checkpointer.wait(); }), HasSubstr("step-8 exists"));
  block("step-10");
  step(10);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 200; ++i) {
    step(11);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, testing::StartsWith("bora: warning: step-10 was not saved (while saving step-10: "));
  EXPECT_THAT(told, testing::EndsWith("); the next save writes the state as it is then\n"));
  EXPECT_EQ(told.find("warning"), told.rfind("warning")) << "at once, and once";
  remove_all(folder / "step-10");
  step(10, RunEnd::Finished);
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(4, 10)) << "the last state is not lost";
}

TEST(AsyncWriter, ErrorsSurfaceAtTheNextCall) {
  Folder folder;
  const TinyRun run(1);
  {
    AsyncWriter writer(folder.path());
    writer.save(run.content(1));
    writer.save(run.content(1));  // exists by then
    EXPECT_THAT(error_of([&] { writer.save(run.content(2)); }), HasSubstr("step-1 exists"));
    writer.save(run.content(2));
    writer.wait();
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(1, 2));
    writer.save(run.content(2));
    testing::internal::CaptureStderr();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: the last checkpoint was not saved: while saving step-2"));
}

TEST(AsyncWriter, CommitsBeforeItCallsBack) {
  Folder folder;
  bool there = false;
  AsyncWriter writer(folder.path());
  writer.save(TinyRun(1).content(1),
              [&](const Manifest&) { there = exists(folder / "step-1/manifest.json"); });
  writer.wait();
  EXPECT_TRUE(there);
}

struct File {
  CheckpointerConfig checkpointer;
  void bind(Binder& b) { b.field("checkpointer", checkpointer); }
};

TEST(CheckpointerConfig, ReadsLevantersBlock) {
  ConfigTree tree;
  tree.merge_text(
      "checkpointer:\n  base_path: runs/\n  keep:\n    - every: 50\n      until: 200\n    - every: 100\n  "
      "save_interval: 5m\n",
      "my.yaml");
  File file;
  EXPECT_TRUE(read_config(tree, file).empty());
  EXPECT_EQ(file.checkpointer.save_interval->seconds, 300);
  EXPECT_THAT(file.checkpointer.keep, ElementsAre(KeepConfig{50, 200}, KeepConfig{100, std::nullopt}));
  EXPECT_EQ(file.checkpointer.run_directory("otter"), "runs/otter");
  file.checkpointer.append_run_id_to_base_path = false;
  EXPECT_EQ(file.checkpointer.run_directory("otter"), "runs/");
}

TEST(CheckpointerConfig, DefaultsAreLevanters) {
  const CheckpointerConfig c;
  EXPECT_EQ(c.base_path, "checkpoints/");
  EXPECT_EQ(c.save_interval->seconds, 900);
  EXPECT_THAT(c.keep, ElementsAre(KeepConfig{10000, std::nullopt}));
  EXPECT_TRUE(c.append_run_id_to_base_path && c.delete_old_temp_checkpoints);
}

TEST(CheckpointerConfig, Problems) {
  ConfigTree tree;
  tree.merge_text("checkpointer:\n  keep:\n    - every: 0\n    - every: 5\n      until: 3\n", "my.yaml");
  File file;
  std::vector<std::string> lines;
  for (const auto& p : read_config(tree, file)) lines.push_back(p.key + " " + p.message);
  EXPECT_THAT(
      lines,
      testing::UnorderedElementsAre(
          HasSubstr("checkpointer.keep.0.every = 0 must be at least 1"),
          HasSubstr("a later one than the rule before; until: null is followed by until: 3; such as")));
}

}  // namespace
}  // namespace bora::checkpoint
