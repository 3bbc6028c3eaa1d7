// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Runs tell how they ended, and are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Arguments = std::vector<std::string>;

TEST(Report, RunsTellHowTheyEnded) {
  const auto folder = small_project("report");
  const auto none = run(folder, {"runs"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(
      none.output,
      HasSubstr(
          "runs: there is neither runs nor checkpoints here\nhint: runs lie in trainer.checkpointer.base_path"));

  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.id=a", "--trainer.stop_at_step=3"}).code, 75);
  EXPECT_THAT(run(folder, {"runs"}).output,
              AllOf(HasSubstr("stopped: trainer.stop_at_step"), HasSubstr("3/40"),
                    HasSubstr("bora train runs/a/config.yaml")));
  EXPECT_THAT(read_text(folder + "/runs/a/report.html"), HasSubstr("\">stopped: trainer.stop_at_step</td>"));
  const auto done = run(folder, {"train", "config.yaml", "--trainer.id=a"});
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("report runs/a/report.html"));
  EXPECT_THAT(read_text(folder + "/runs/a/report.html"),
              AllOf(HasSubstr("\">finished</td>"), HasSubstr("\">40 of 40</td>")));

  const auto wild = run(folder, {"train", "config.yaml", "--trainer.id=b", "--optimizer.learning_rate=1e30"});
  EXPECT_EQ(wild.code, 4) << wild.output;
  const auto runs = run(folder, {"runs"}).output;
  EXPECT_THAT(runs, AllOf(HasSubstr("finished"), HasSubstr("failed: "), HasSubstr("bora report runs/b")));

  EXPECT_THAT(read_text(folder + "/runs/b/report.html"), HasSubstr("\">failed: "));

  // A configuration that names no folder puts them into another.
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.id=c", "--trainer.stop_at_step=3",
                         "--trainer.checkpointer.base_path=null"})
                .code,
            75);
  EXPECT_THAT(run(folder, {"runs"}).output,
              AllOf(HasSubstr("bora report runs/b"), HasSubstr("bora train checkpoints/c/config.yaml")));

  // What the list calls a run is taken for its folder in messages.
  for (const auto& line : {Arguments{"inspect", "c"}, Arguments{"report", "c"},
                           Arguments{"generate", "c", "x"}, Arguments{"eval", "--model", "c"}})
    EXPECT_THAT(run(folder, line).output, HasSubstr("c does not exist; did you mean checkpoints/c?"))
        << line[0];

  const auto both = run(folder, {"report", "runs/a", "runs/b", "--out", "both.html"});
  EXPECT_EQ(both.code, 0) << both.output;
  EXPECT_EQ(both.output, "written: both.html\n");
  EXPECT_THAT(read_text(folder + "/both.html"), HasSubstr("<td>optimizer.learning_rate</td>"));
  const auto wrong = run(folder, {"report", "runs/a", "texts"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.output, HasSubstr("texts does not exist\nhint: bora runs lists the runs of a folder"));
}

TEST(Report, WhatIsDamagedIsTold) {
  const auto folder = small_project("report_damaged");
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.stop_at_step=3"}).code, 75);
  write_atomically(folder + "/runs/run/metrics.jsonl", "no metrics\n");
  write_atomically(folder + "/runs/run/run.json", "[1]");
  const auto done = run(folder, {"report", "runs/run"});
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("warning: runs/run/metrics.jsonl"), HasSubstr("warning: runs/run/run.json"),
                    HasSubstr("the page is without it"), HasSubstr("written: runs/run/report.html")));
}

TEST(Report, RunsKeepARecordOfEachStart) {
  const auto folder = small_project("starts");
  ASSERT_EQ(run(folder, {"cache", "config.yaml"}).code, 0) << "complete before the first start ends";
  setenv("SOME_PASSWORD", "canary-of-the-environment", 1);
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.stop_at_step=2"}).code, 75);
  const auto first = parse_json(read_text(folder + "/runs/run/run.json"), "first");
  const auto rate = "--optimizer.learning_rate=0.0011";
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.stop_at_step=5", rate}).code, 75);
  unsetenv("SOME_PASSWORD");
  const auto text = read_text(folder + "/runs/run/run.json");
  EXPECT_THAT(text, Not(HasSubstr("canary-of-the-environment")));
  const auto record = parse_json(text, "run.json");
  ASSERT_EQ(record["starts"].size(), 2U) << text;
  EXPECT_EQ(record["tokenizer_name"], "bpe of 300 pieces trained on the text");
  EXPECT_THAT(record["libraries"].dump(), AllOf(HasSubstr("libtorch_cpu.so"), HasSubstr("libc.so.6")));
  EXPECT_EQ(record["starts"][0], first["starts"][0]) << "kept as it was";
  const auto& last = record["starts"][1];
  EXPECT_EQ(last["step"], 2);
  EXPECT_EQ(last["command"], "bora train config.yaml --trainer.stop_at_step=5 " + std::string(rate));
  EXPECT_EQ(last["workers"], 1);
  EXPECT_THAT(last["changed"].dump(), HasSubstr("-> 0.0011"));
  EXPECT_EQ(record["command"], last["command"]);
  EXPECT_EQ(record["folder"], folder);
  EXPECT_EQ(record["data"], first["data"]) << "the same text has the same fingerprint";
  EXPECT_EQ(record["data"]["one"]["fingerprint"].get<std::string>().size(), 32U);
  EXPECT_NE(record["data"]["one"]["fingerprint"], record["data"]["two"]["fingerprint"]);
  for (const char* key : {"bora", "compiler", "libtorch", "host", "system", "cpu", "memory", "arithmetic"})
    EXPECT_TRUE(record[key].is_string()) << key;
  if (exists(std::string(BORA_SOURCE_DIR) + "/.git")) {
    EXPECT_GE(record.value("revision", "").size(), 40U);
  }

  const auto shown = run(folder, {"inspect", "runs/run"});
  EXPECT_EQ(shown.code, 0) << shown.output;
  EXPECT_THAT(
      shown.output,
      AllOf(HasSubstr("run         run · stopped · trainer.stop_at_step · 5 of 40 steps\n"),
            HasSubstr(" · at step 0 · "), HasSubstr(" · at step 2 · "),
            HasSubstr("stop_at_step=5 " + std::string(rate)), HasSubstr("checkpoint  runs/run/step-5"),
            HasSubstr("next        bora train runs/run/config.yaml --trainer.stop_at_step=null\n")));
}

// Where a stop was asked for, what goes on is without it; the same again would stop where it begins.
TEST(Report, AStopIsNotRepeated) {
  const auto folder = small_project("stops");
  const Arguments train = {"train", "config.yaml", "--trainer.stop_at_step=2"};
  const auto stopped = run(folder, train);
  EXPECT_EQ(stopped.code, 75) << stopped.output;
  EXPECT_THAT(stopped.output, AllOf(HasSubstr("next:  bora train config.yaml --trainer.stop_at_step=null\n"),
                                    Not(HasSubstr("run it again"))));
  for (const auto& words : {train, with(train, {"--dry_run"}), with(train, {"--trainer.stop_at_step=1"})}) {
    const auto again = run(folder, words);
    EXPECT_EQ(again.code, 2) << again.output;
    EXPECT_THAT(again.output, AllOf(HasSubstr("trainer.stop_at_step = "),
                                    HasSubstr("the run goes on at step 2, so that nothing is left before it; "
                                              "a larger step, or --trainer.stop_at_step=null")));
  }
  files().make_directories(folder + "/elsewhere");
  EXPECT_THAT(
      run(folder + "/elsewhere", {"runs", "../runs"}).output,
      HasSubstr("cd " + folder + " && bora train runs/run/config.yaml --trainer.stop_at_step=null\n"));
}

std::vector<std::int64_t> evaluated(const std::string& folder) {
  std::vector<std::int64_t> steps;
  for (const auto& line : split(read_text(folder + "/runs/run/metrics.jsonl"), '\n')) {
    if (line.empty()) continue;
    const auto json = parse_json(line, "metrics.jsonl");
    if (json.contains("eval/loss")) steps.push_back(json["step"].get<std::int64_t>());
  }
  return steps;
}

// One numbering in a curve; what was measured stays when a run is extended, and stands there once.
TEST(Report, AnExtendedRunKeepsItsEvaluations) {
  const auto folder = small_project("extended");
  const Arguments train = {"train", "config.yaml", "--data.num_validation_sequences={one: 2}",
                           "--trainer.steps_per_eval=4"};
  const auto to = [&](const char* steps) {
    const auto done = run(folder, with(train, {std::string("--trainer.num_train_steps=") + steps}));
    EXPECT_EQ(done.code, 0) << done.output;
    return evaluated(folder);
  };
  EXPECT_THAT(to("6"), ElementsAre(3, 5));
  EXPECT_THAT(to("6"), ElementsAre(3, 5)) << "again at its end";
  EXPECT_THAT(to("8"), ElementsAre(3, 5, 7));
  EXPECT_THAT(to("9"), ElementsAre(3, 5, 7, 8));
}

Json last_line(const std::string& path) {
  const auto text = read_text(path);
  return parse_json(text.substr(text.rfind('\n', text.size() - 2) + 1), path);
}

// Curves of one run have one scale: what was measured stays, unless another machine or setting goes on with it.
TEST(Report, TheMachineIsMeasuredOnce) {
  const auto folder = small_project("peak");
  const auto start = [&](const std::string& stop, const std::vector<std::string>& more = {}) {
    std::vector<std::string> line = {"train", "config.yaml", "--trainer.stop_at_step=" + stop};
    line.insert(line.end(), more.begin(), more.end());
    const auto done = run(folder, line);
    EXPECT_EQ(done.code, 75) << done.output;
    return done.output;
  };
  const auto recorded = [&] {
    return parse_json(read_text(folder + "/runs/run/run.json"), "run.json")["peak_flops"];
  };
  EXPECT_THAT(start("2"), AllOf(HasSubstr("\npeak "), HasSubstr("FLOP/s in f32, measured\n")));
  const auto peak = recorded();
  EXPECT_GT(peak["per_second"], 1e7) << "a slow machine's";
  EXPECT_EQ(peak["measured"], true);
  EXPECT_EQ(peak["compute"], "f32");
  const auto step = last_line(folder + "/runs/run/timing.jsonl");
  const double speed = step["throughput/gflops_per_second"].get<double>() * 1e9;
  EXPECT_NEAR(step["throughput/mfu"].get<double>(), 100 * speed / peak["per_second"].get<double>(), 1e-6);
  EXPECT_LT(step["throughput/mfu_causal"], step["throughput/mfu"]);
  EXPECT_GT(step["throughput/mfu_palm"], 0.0);

  EXPECT_THAT(start("4"), HasSubstr("FLOP/s in f32, as measured at an earlier start\n"));
  EXPECT_EQ(recorded()["per_second"], peak["per_second"]);
  EXPECT_THAT(start("5", {"--trainer.threads=1"}), HasSubstr("FLOP/s in f32, measured\n")) << "other threads";
  EXPECT_THAT(start("6", {"--trainer.peak_flops=2e12"}), HasSubstr("2 TFLOP/s, by trainer.peak_flops\n"));
  EXPECT_EQ(recorded()["per_second"], 2e12);
  EXPECT_EQ(recorded()["measured"], false);
  EXPECT_THAT(start("7"), HasSubstr("FLOP/s in f32, measured\n")) << "a number that was given is not kept";
  const auto wrong = run(folder, {"train", "config.yaml", "--trainer.peak_flops=fast"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("trainer.peak_flops = fast"));
}

}  // namespace
}  // namespace bora::golden
