// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Workers that are killed, stopped or told to stop: the run ends with the bits of the one that nobody
// disturbed. BORA_TEST_FAILURES=100 makes so many random failures in one run, BORA_TEST_STOPS=100 so many
// stops; both print what they measured.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bora/base/clock.h"
#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/key.h"
#include "bora/base/text.h"
#include "launched.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr int kWorkers = 3, kSteps = 120;
// More than there is time for, so that the run is stopped in order; its checkpoints would take 4 GB, which a start asks for.
constexpr int kManySteps = 50'000;

std::vector<std::string> training(int steps) {
  return {"train",
          "config.yaml",
          "--trainer.lanes=4",
          "--trainer.worker_timeout=3",
          "--trainer.checkpointer.keep=[{every: 5}]",
          "--trainer.num_train_steps=" + std::to_string(steps)};
}

void expect_same_end(const std::string& folder, const std::string& undisturbed, int steps) {
  const auto last = "/runs/run/step-" + std::to_string(steps);
  const auto diff = run(folder, {"diff", undisturbed + last, folder + last});
  EXPECT_EQ(diff.code, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
  EXPECT_EQ(read_text(undisturbed + "/runs/run/metrics.jsonl"),
            read_text(folder + "/runs/run/metrics.jsonl"));
  for (const auto& name : files().list(folder + "/runs/run"))
    EXPECT_THAT(name, AllOf(Not(HasSubstr("tmp")), Not(HasSubstr("damaged"))));
}

// One run alone for each number of steps.
const std::string& undisturbed_run(int steps) {
  static std::map<int, std::string> folders;
  auto& folder = folders[steps];
  if (!folder.empty()) return folder;
  folder = small_project("undisturbed_" + std::to_string(steps));
  auto line = training(steps);
  line.emplace_back("--trainer.threads=1");
  const auto done = run(folder, line);
  EXPECT_EQ(done.code, 0) << done.output;
  return folder;
}

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

class WorkerFailures : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  }
};

// Of three workers one dies in training; of the two that go on, one is stopped, then one dies while it
// starts.
TEST_F(WorkerFailures, ThreeOfThemAndTheBitsOfNone) {
  const auto folder = small_project("failures");
  Launched launched(folder, 3, {"--restarts", "3", "--workers-on-restart", "2"}, training(kSteps));
  ASSERT_TRUE(launched.wait_for_step(10)) << launched.wait().output;
  ::kill(launched.worker(2), SIGKILL);
  ASSERT_TRUE(launched.wait_for_step(newest_step(folder) + 20)) << launched.wait().output;
  const auto stopped = launched.worker(0);
  ::kill(stopped, SIGSTOP);
  while (!launched.ended() && is_running(stopped)) ::usleep(10000);
  ASSERT_TRUE(launched.wait_for_workers(2)) << launched.wait().output;
  ::kill(launched.worker(1), SIGKILL);
  const auto done = launched.wait();
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_GE(count(done.output, "no answer from worker 2 (host "), 1) << done.output;
  EXPECT_THAT(done.output, HasSubstr(" has died"));
  EXPECT_GE(count(done.output, "no answer from worker 0 (host "), 1) << done.output;
  EXPECT_THAT(done.output, HasSubstr(" is stopped (deadline 3 s)"));
  EXPECT_THAT(done.output, AllOf(HasSubstr("bora launch: worker 2 (host "),
                                 HasSubstr(") was lost (Killed); restart 1 of 3 with 2 workers\n")));
  EXPECT_THAT(done.output, HasSubstr("; restart 3 of 3 with 2 workers\n"));
  expect_same_end(folder, undisturbed_run(kSteps), kSteps);
}

// Asked of the launcher, and of one worker alone; then one is killed, and nobody starts it again.
TEST_F(WorkerFailures, AStopIsCommonAndOrderly) {
  const auto folder = small_project("stops");
  for (const bool all : {true, false}) {
    Launched launched(folder, 2, {"--restarts", "5"}, training(kSteps));
    ASSERT_TRUE(launched.wait_for_step(newest_step(folder) + 6)) << launched.wait().output;
    ::kill(all ? launched.pid() : launched.worker(1), SIGTERM);
    const auto done = launched.wait();
    EXPECT_EQ(done.code, 75) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr("stopped: step "), HasSubstr("bora launch: stopped; the same")));
    if (all) {
      EXPECT_THAT(done.output, HasSubstr("bora launch: Terminated: the workers stop after this step"));
    }
    EXPECT_EQ(count(done.output, "; restart "), 0) << done.output;
  }
  Launched launched(folder, 2, {}, training(kSteps));
  ASSERT_TRUE(launched.wait_for_step(newest_step(folder) + 6)) << launched.wait().output;
  ::kill(launched.worker(1), SIGKILL);
  const auto done = launched.wait();
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("the same command goes on from the newest checkpoint"));
  const auto last = run(folder, training(kSteps));
  EXPECT_EQ(last.code, 0) << last.output;
  expect_same_end(folder, undisturbed_run(kSteps), kSteps);
}

// A worker that dies before the earlier run is put aside: the next attempt begins anew, too.
TEST_F(WorkerFailures, AFreshStartStaysOneAfterARestart) {
  const auto folder = small_project("fresh_restart");
  auto line = training(20);
  line.emplace_back("--trainer.seed=5");
  ASSERT_EQ(run(folder, line).code, 0);
  line.back() = "--fresh";
  Launched launched(folder, 2, {"--restarts", "3"}, line);
  ::kill(launched.worker(1), SIGKILL);
  const auto done = launched.wait();
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("; restart 1 of 3 with 2 workers\n"));
  const auto last = "/runs/run/step-20";
  const auto diff = run(folder, {"diff", undisturbed_run(20) + last, folder + last});
  EXPECT_EQ(diff.code, 0) << "went on with the earlier run: " << diff.output;
}

// By a worker of before that is stuck in a write; here by the test.
TEST_F(WorkerFailures, ARestartWaitsForTheDirectory) {
  const auto folder = small_project("held_restart");
  Launched launched(folder, 2, {"--restarts", "1"}, training(kSteps));
  ASSERT_TRUE(launched.wait_for_step(10)) << launched.wait().output;
  ::kill(launched.pid(), SIGSTOP);  // or it might be faster
  ::kill(launched.worker(1), SIGKILL);
  std::unique_ptr<FileLock> held;
  while (!held) {
    held = files().try_lock(folder + "/runs/run/.lock");
    ::usleep(10000);
  }
  ::kill(launched.pid(), SIGCONT);
  while (!launched.ended() && count(read_text(folder + "/output.txt"), "; waiting\n") == 0) ::usleep(10000);
  held.reset();
  const auto done = launched.wait();
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("bora launch: runs/run is still held by process "));
  expect_same_end(folder, undisturbed_run(kSteps), kSteps);
}

TEST_F(WorkerFailures, AFlippedBitIsFoundAndNamed) {
  const auto folder = small_project("flipped");
  auto line = training(30);
  line.emplace_back("--trainer.check_replicas_every=10");
  line.emplace_back("--trainer.fsdp_axis=[]");  // whole parameters on each
  line.emplace_back("--trainer.checkpointer.keep=[{every: 1000}]");
  ::setenv("BORA_TEST_FLIP_BIT", "1@12", 1);
  const auto done = Launched(folder, 3, {}, line).wait();
  ::unsetenv("BORA_TEST_FLIP_BIT");
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("after step 20: worker 1 (host "));
  EXPECT_THAT(done.output, HasSubstr(") holds other values of "));
  EXPECT_LT(newest_step(folder), 12);
}

TEST_F(WorkerFailures, LaunchRefusesWhatMakesNoSense) {
  const auto folder = small_project("launch_usage");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"launch", "--", "train", "config.yaml"}, "launch: --workers is required"},
      {{"launch", "-n", "0", "--", "train", "config.yaml"}, "launch: -n is 0; it must be from 1 to 1000000"},
      {{"launch", "-n", "2", "--", "inspect", "cache"},
       "inspect cannot run as several workers, only train and eval can"},
      {{"launch", "-n", "2"}, "launch: command is required"},
      {{"launch", "-n", "2", "--workers-on-restart", "1", "--", "train", "config.yaml"}, "--restarts is 0"},
      {{"launch", "-n", "2", "--", "train", "config.yaml", "--trainer.lane=2"},
       "did you mean trainer.lanes?"},
  };
  for (const auto& [arguments, words] : wrong) {
    const auto done = run(folder, arguments);
    EXPECT_EQ(done.code, 2) << done.output;
    EXPECT_THAT(done.output, HasSubstr(words));
  }
  ::setenv("PATH", "/nowhere", 1);
  const auto none = run(folder, {"launch", "-n", "2", "--", "train", "config.yaml"});
  ::setenv("PATH", "/usr/bin:/bin", 1);
  EXPECT_EQ(none.code, 1) << none.output;
  EXPECT_THAT(none.output,
              HasSubstr("bora: launch: mpirun is not in PATH\nhint: sudo apt-get install openmpi"));
}

int wished(const char* variable) {
  return static_cast<int>(parse_int(env::for_tests(variable).value_or("0")).value_or(0));
}

std::string quantiles(std::vector<double> seconds) {
  if (seconds.empty()) return "none";
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double q) {
    return seconds[static_cast<std::size_t>(q * static_cast<double>(seconds.size() - 1))];
  };
  return fmt::format("p50 {:.2f} s, p99 {:.2f} s, most {:.2f} s", at(0.5), at(0.99), seconds.back());
}

// What passed between a signal to a worker and: the first word of it, the end of all workers of then, and a
// checkpoint of those that were started again.
struct Seconds {
  std::vector<double> told, gone, back;
};

std::string shown(const Seconds& s) {
  return fmt::format("told after {}; all gone after {}; a checkpoint of the next {} times: after {}",
                     quantiles(s.told), quantiles(s.gone), s.back.size(), quantiles(s.back));
}

// How often a loss was told, by a survivor or by the launcher.
int losses_told(const std::string& folder) {
  const auto said = read_text(folder + "/output.txt");
  return count(said, "no answer from worker ") + count(said, " was lost (");
}

// A failure, of which every second is waited for until training goes on: the others may hit what starts.
void disturb(const Launched& launched, const std::string& folder, pid_t victim, int with, bool wait_for_more,
             Seconds& out) {
  const auto workers = launched.workers();
  const int told = losses_told(folder);
  ::kill(victim, with);
  const double began = monotonic_seconds();
  const auto since = [&] { return monotonic_seconds() - began; };
  const auto all_gone = [&] {
    return std::all_of(workers.begin(), workers.end(),
                       [](const auto& worker) { return ::kill(worker.second, 0) != 0; });
  };
  double first_word = 0, gone = 0;
  while (!launched.ended() && since() < 60 && (first_word == 0 || gone == 0)) {
    if (first_word == 0 && losses_told(folder) > told) first_word = since();
    if (gone == 0 && all_gone()) gone = since();
    ::usleep(2000);
  }
  if (first_word > 0) out.told.push_back(first_word);
  if (gone > 0) out.gone.push_back(gone);
  if (!wait_for_more) return;
  const int before = newest_step(folder);
  while (!launched.ended() && newest_step(folder) <= before) ::usleep(5000);
  if (!launched.ended()) out.back.push_back(since());
}

TEST_F(WorkerFailures, AHundredInOneRun) {
  const int wanted = wished("BORA_TEST_FAILURES");
  if (wanted == 0) GTEST_SKIP() << "set BORA_TEST_FAILURES to a number";
  const int steps = kManySteps;
  const auto folder = small_project("many_failures");
  Launched launched(folder, kWorkers, {"--restarts", std::to_string(wanted)}, training(steps));
  const auto key = Key::from_seed(7);
  Seconds kills, stops;
  for (int i = 0; i < wanted; ++i) {
    if (!launched.wait_for_workers(kWorkers)) break;
    const auto draw = [&](std::uint64_t below, std::uint64_t what) {
      return key.below(below, 3 * static_cast<std::uint64_t>(i) + what);
    };
    ::usleep(static_cast<useconds_t>(draw(2500, 0) * 1000));
    if (launched.ended()) break;
    const auto victim = launched.worker(static_cast<int>(draw(kWorkers, 1)));
    const bool kill = draw(2, 2) == 0;
    disturb(launched, folder, victim, kill ? SIGKILL : SIGSTOP, i % 2 == 0, kill ? kills : stops);
  }
  EXPECT_EQ(std::ssize(kills.gone) + std::ssize(stops.gone), wanted) << "the run was over before";
  // A stop that comes before training begins ends the run as it was.
  if (launched.wait_for_step(newest_step(folder) + 1)) ::kill(launched.pid(), SIGTERM);
  const auto done = launched.wait();
  EXPECT_EQ(done.code, 75) << done.output.substr(done.output.size() -
                                                 std::min<std::size_t>(4000, done.output.size()));
  fmt::print("{} killed: {}\n{} stopped: {}\n", kills.gone.size(), shown(kills), stops.gone.size(),
             shown(stops));
  const int last = newest_step(folder);
  fmt::print("restarts: {}; reports of survivors: {}; steps: {}\n", count(done.output, "; restart "),
             count(done.output, "no answer from worker "), last);
  std::fflush(stdout);

  const auto undisturbed = small_project("undisturbed_alone");
  auto line = training(steps);
  line.emplace_back("--trainer.threads=1");
  line.emplace_back("--trainer.stop_at_step=" + std::to_string(last));
  EXPECT_EQ(run(undisturbed, line).code, 75);
  expect_same_end(folder, undisturbed, last);
}

TEST_F(WorkerFailures, AHundredStops) {
  const int wanted = wished("BORA_TEST_STOPS");
  if (wanted == 0) GTEST_SKIP() << "set BORA_TEST_STOPS to a number";
  const auto folder = small_project("many_stops");
  std::vector<double> delays;
  for (int i = 0; i < wanted; ++i) {
    Launched launched(folder, kWorkers, {}, training(kManySteps));
    ASSERT_TRUE(launched.wait_for_step(newest_step(folder) + 5)) << launched.wait().output;
    const auto workers = launched.workers();
    ::usleep(static_cast<useconds_t>(Key::from_seed(9).below(100, static_cast<std::uint64_t>(i)) * 1000));
    ::kill(i % 2 == 0 ? launched.pid() : workers.at(i % kWorkers), SIGTERM);
    const double began = monotonic_seconds();
    for (const auto& [rank, pid] : workers)
      while (!launched.ended() && is_running(pid)) ::usleep(1000);
    delays.push_back(monotonic_seconds() - began);
    const auto done = launched.wait();
    ASSERT_EQ(done.code, 75) << done.output;
  }
  fmt::print("{} stops: all workers gone, checkpoint written, after {}\n", delays.size(), quantiles(delays));
}

}  // namespace
}  // namespace bora::golden
