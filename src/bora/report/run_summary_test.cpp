// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/run_summary.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/report/status.h"

namespace bora::report {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Runs : public testing::Test {
 protected:
  Runs() : folder_(path_join(testing::TempDir(), "bora_runs")) {
    remove_all(folder_);
    files().make_directories(folder_);
  }
  std::string run(const std::string& name) const {
    const auto directory = path_join(folder_, name);
    files().make_directories(directory);
    write_atomically(path_join(directory, "metrics.jsonl"), "{\"step\":8,\"train/loss\":3.25}\n");
    write_atomically(path_join(directory, "timing.jsonl"),
                     "{\"step\":6,\"time\":1,\"throughput/tokens_per_second\":29400}\n"
                     "{\"step\":7,\"time\":1,\"throughput/tokens_per_second\":29500}\n"
                     "{\"step\":8,\"time\":1,\"throughput/tokens_per_second\":31000}\n");
    return directory;
  }
  std::string folder_;
};

TEST_F(Runs, TellHowTheyEnded) {
  const auto directory = run("a");
  EXPECT_EQ(summarize(directory).state, "unknown");
  write_status(directory, {.step = 4, .num_train_steps = 20});
  EXPECT_EQ(summarize(directory).state, "killed");
  write_status(directory,
               {.phase = Phase::Failed, .step = 9, .num_train_steps = 20, .exit_code = 4, .reason = "NaN"});
  const auto failed = summarize(directory);
  EXPECT_EQ(failed.state, "failed");
  EXPECT_EQ(failed.reason, "NaN");
  EXPECT_EQ(failed.step, 9);
  EXPECT_EQ(failed.num_train_steps, 20);
  EXPECT_EQ(failed.loss, 3.25);
  EXPECT_EQ(failed.next, "bora report " + directory);
}

TEST_F(Runs, AreRunningWhileSomebodyHoldsTheirLock) {
  const auto directory = run("a");
  write_status(directory, {.step = 4, .num_train_steps = 20});
  const auto lock = files().try_lock(path_join(directory, ".lock"));
  EXPECT_EQ(summarize(directory).state, "running");
}

TEST_F(Runs, SayWhatComesNextInWordsOfAShell) {
  const auto directory = run("it's mine");
  write_atomically(path_join(directory, "config.yaml"), "{}\n");
  write_status(directory, {.phase = Phase::Stopped, .step = 4, .num_train_steps = 20});
  EXPECT_EQ(summarize(directory).next, "bora train '" + folder_ + "/it'\\''s mine/config.yaml'");
  write_atomically(path_join(directory, "run.json"), Json{{"folder", folder_}}.dump());
  EXPECT_EQ(summarize(directory).next, "cd " + folder_ + " && bora train 'it'\\''s mine/config.yaml'");
  write_status(
      directory,
      {.phase = Phase::Stopped, .step = 4, .num_train_steps = 20, .reason = std::string(kStopReason)});
  EXPECT_THAT(summarize(directory).next, EndsWith("/config.yaml' --trainer.stop_at_step=null"));
  write_atomically(path_join(directory, "run.json"), "[");
  EXPECT_THAT(summarize(directory).next, StartsWith("bora train '/"));
}

// A start by the configuration of one that lies elsewhere than that says would be refused.
TEST_F(Runs, ThatWerePutAsideOrCopiedSayWhereTheyLie) {
  const auto next_of = [&](const std::string& name, const std::string& id) {
    const auto directory = run(name);
    write_atomically(path_join(directory, "config.yaml"),
                     fmt::format("trainer: {{id: {}, checkpointer: {{base_path: .}}}}\n", id));
    write_atomically(path_join(directory, "run.json"), Json{{"folder", folder_}}.dump());
    write_status(directory, {.phase = Phase::Stopped, .step = 4, .num_train_steps = 20});
    return summarize(directory).next;
  };
  const auto plain = [&](const std::string& name) {
    return "cd " + folder_ + " && bora train " + name + "/config.yaml";
  };
  EXPECT_EQ(next_of("mine", "mine"), plain("mine"));
  EXPECT_EQ(next_of("calm-heron-12", "null"), plain("calm-heron-12"));
  for (const auto& [name, id] : {std::pair("mine.before-1", "mine"),
                                 {"copy", "mine"},
                                 {"calm-heron-12.before-1", "null"},
                                 {"copy2", "null"}})
    EXPECT_EQ(next_of(name, id), plain(name) + " --trainer.checkpointer.base_path=. --trainer.id=" + name);
}

TEST_F(Runs, AreATable) {
  write_status(run("a"), {.phase = Phase::Finished, .step = 20, .num_train_steps = 20, .time = 4e9});
  write_status(
      run("b"),
      {.phase = Phase::Stopped, .step = 9, .num_train_steps = 20, .reason = "asked", .time = 4e9 - 600});
  write_atomically(path_join(folder_, "file"), "");
  files().make_directories(path_join(folder_, "empty"));
  const auto runs = runs_in({folder_});
  ASSERT_EQ(runs.size(), 2U);
  const auto table = runs_table(runs, 4e9);
  EXPECT_THAT(table, StartsWith("run  state           step   loss   tokens/s  age     next\n"
                                "a    finished        20/20  3.250  29.5k     now     bora report "));
  EXPECT_THAT(table, HasSubstr("b    stopped: asked  9/20   3.250  29.5k     10 min  bora report "));
  const auto json = parse_json(runs_json(runs), "runs");
  EXPECT_EQ(json[0]["state"], "finished");
  EXPECT_EQ(json[1]["tokens_per_second"], 29500);
}

TEST_F(Runs, WithADamagedStatusAreUnknown) {
  const auto directory = run("a");
  for (const char* text : {"", "{", "{\"state\": \"asleep\"}", "[]"}) {
    write_atomically(path_join(directory, "status.json"), text);
    EXPECT_EQ(summarize(directory).state, "unknown") << text;
  }
}

TEST_F(Runs, WithDamagedNumbersAreListed) {
  write_atomically(path_join(run("a"), "metrics.jsonl"), "?\n");
  const auto runs = runs_in({folder_});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_THAT(runs_table(runs, 0), HasSubstr("unknown: metrics.jsonl is damaged"));
}

TEST_F(Runs, ThatAreNoneAreAnError) {
  const auto message = [](const std::string& directory) {
    try {
      summarize(directory);
      return std::string();
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  EXPECT_THAT(message(folder_), HasSubstr("bora_runs is no run: it has neither run.json nor metrics.jsonl"));
  EXPECT_THAT(message(folder_ + "/x"),
              HasSubstr("/x does not exist\nhint: bora runs lists the runs of a folder"));
}

}  // namespace
}  // namespace bora::report
