// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// trainer.profiler: one timeline of all workers, which changes nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

const std::vector<std::string> kTrain8 = {"train", "config.yaml", "--trainer.num_train_steps=8",
                                          "--trainer.threads=1", "--trainer.checkpointer.keep=[{every: 4}]"};

struct Timeline {
  std::map<int, std::string> processes;                // names
  std::map<std::pair<int, int>, std::string> threads;  // of (process, thread)
  std::map<int, std::map<std::string, int>> spans;     // names of a process's, and how many
  std::map<int, std::set<std::int64_t>> steps;         // of a process's spans "step"
};

Timeline read_timeline(const std::string& path) {
  Timeline out;
  const auto trace = Json::parse(read_text(path));
  for (const auto& e : trace.at("traceEvents")) {
    const int process = e.at("pid"), thread = e.at("tid");
    const std::string name = e.at("name");
    if (name == "process_name") out.processes[process] = e.at("args").at("name");
    if (name == "thread_name") out.threads[{process, thread}] = e.at("args").at("name");
    if (e.at("ph") != "X") continue;
    EXPECT_GE(e.at("ts").get<double>(), 0) << name;
    EXPECT_GE(e.at("dur").get<double>(), 0) << name;
    EXPECT_TRUE(out.threads.contains({process, thread})) << name;
    ++out.spans[process][name];
    if (name == "step") out.steps[process].insert(e.at("args").at("step").get<std::int64_t>());
  }
  return out;
}

std::set<std::string> names(const std::map<std::string, int>& spans) {
  std::set<std::string> out;
  for (const auto& [name, count] : spans) out.insert(name);
  return out;
}

TEST(WorkerTrace, OfOneWorker) {
  const auto plain = small_project("trace_none"), folder = small_project("trace_one");
  ASSERT_EQ(run(plain, kTrain8).code, 0);
  const auto done = run(folder, with(kTrain8, {"--trainer.profiler=true", "--trainer.profiler_start_step=2",
                                               "--trainer.profiler_num_steps=3"}));
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("runs/run/trace-step-2.json: open it in ui.perfetto.dev"));
  const auto t = read_timeline(folder + "/runs/run/trace-step-2.json");
  ASSERT_EQ(t.processes.size(), 1U);
  EXPECT_EQ(t.steps.at(0), (std::set<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(t.spans.at(0).at("forward"), 3 * 2);  // lanes
  EXPECT_EQ(t.spans.at(0).at("backward"), 3 * 2);
  EXPECT_THAT(names(t.spans.at(0)), IsSupersetOf({"batch wait", "gradient norm", "optimizer", "hooks",
                                                  "checkpoint", "checkpoint snapshot"}));
  EXPECT_EQ(t.threads.at({0, 0}), "training");
  EXPECT_FALSE(exists(plain + "/runs/run/trace-step-2.json"));
  const auto diff = run(folder, {"diff", plain + "/runs/run/step-8", folder + "/runs/run/step-8"});
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
}

TEST(WorkerTrace, OfTwoWorkersToTheEndOfTheRun) {
  if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  for (const bool sharded : {true, false}) {
    const auto folder = small_project(sharded ? "trace_sharded" : "trace_whole");
    const auto done = run_workers(folder, 2,
                                  with(kTrain8, {"--trainer.profiler={enabled: true}",
                                                 sharded ? "--trainer.seed=0" : "--trainer.fsdp_axis=null"}));
    ASSERT_EQ(done.code, 0) << done.output;
    const auto t = read_timeline(folder + "/runs/run/trace-step-5.json");
    ASSERT_EQ(t.processes.size(), 2U);
    for (int process : {0, 1}) {
      EXPECT_THAT(t.processes.at(process), HasSubstr("worker " + std::to_string(process) + " (host "));
      EXPECT_EQ(t.steps.at(process), (std::set<std::int64_t>{5, 6, 7}));
      EXPECT_EQ(t.spans.at(process).at("backward"), 3);  // its lane of two
      EXPECT_THAT(names(t.spans.at(process)), IsSupersetOf({"reduce-scatter", "all-gather", "exchange"}));
      EXPECT_EQ(t.spans.at(process).contains("gather block"), sharded);
    }
  }
}

}  // namespace
}  // namespace bora::golden
