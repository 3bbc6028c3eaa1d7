// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Several workers as a user starts them, with everything at its default: lanes, samples, who is lost at the
// start, and what listens on the network.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "launched.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLastStep = "/runs/run/step-6";
const std::vector<std::string> kTrainAndSample = {"train", "config.yaml", "--trainer.num_train_steps=6",
                                                  "--sample.prompts=[\"the moon\",\"a compiler of dreams\"]",
                                                  "--sample.max_new_tokens=12"};

// Without trainer.lanes, in batches of so many sequences.
std::string project(const std::string& name, int batch) {
  const auto folder = small_project(name);
  auto text = read_text(folder + "/config.yaml");
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("  lanes: 2\n", "");
  replace("train_batch_size: 8", "train_batch_size: " + std::to_string(batch));
  write_atomically(folder + "/config.yaml", text);
  return folder;
}

Finished launch(const std::string& folder, int workers, const std::vector<std::string>& arguments) {
  return Launched(folder, workers, {}, arguments).wait();
}

// From the first sample to the empty line.
std::string samples(const std::string& output) {
  const auto from = output.find("\"the moon\"");
  return from == output.npos ? "none in " + output : output.substr(from, output.find("\n\n", from) - from);
}

std::int64_t recorded_lanes(const std::string& folder) {
  return Json::parse(read_text(folder + "/runs/run/run.json")).value("lanes", std::int64_t{0});
}

void expect_bit_equal(const std::string& a, const std::string& b) {
  const auto diff = run(a, {"diff", a + kLastStep, b + kLastStep});
  EXPECT_EQ(diff.code, 0) << diff.output;
}

class WorkerStart : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  }
};

// One worker has a lane; two need two, and those who go on keep them.
TEST_F(WorkerStart, TheFirstStartChoosesTheLanes) {
  const auto two = project("start_two", 4), three = project("start_three", 4), one = project("start_one", 4);
  const auto done = launch(two, 2, kTrainAndSample);
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("· 2 lanes"));
  EXPECT_EQ(done.output.find('\x1b'), std::string::npos) << "no terminal reads this";
  EXPECT_EQ(recorded_lanes(two), 2);
  const auto of_three = launch(three, 3, kTrainAndSample);
  ASSERT_EQ(of_three.code, 0) << of_three.output;
  EXPECT_EQ(recorded_lanes(three), 4);

  const auto alone = run(one, kTrainAndSample);
  ASSERT_EQ(alone.code, 0) << alone.output;
  EXPECT_EQ(recorded_lanes(one), 1);
  const auto refused = launch(one, 2, with(kTrainAndSample, {"--trainer.num_train_steps=8"}));
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("2 workers, but the run has had 1 lane since its first "
                                        "start; at most 1 worker, or --fresh"));
  EXPECT_EQ(launch(one, 2, with(kTrainAndSample, {"--fresh"})).code, 0);
  expect_bit_equal(one, two);

  for (const int record : {1, 0}) {  // what a checkpoint says is enough
    const auto rest = copy_project(two, "start_rest", 3);
    if (record == 0) files().remove(rest + "/runs/run/run.json");
    const auto went_on = run(rest, kTrainAndSample);
    EXPECT_EQ(went_on.code, 0) << went_on.output;
    EXPECT_THAT(went_on.output, AllOf(HasSubstr("at step 3 of 6"), HasSubstr("· 2 lanes")));
    expect_bit_equal(rest, two);
  }
  const auto other = copy_project(two, "start_other", 3);
  EXPECT_THAT(run(other, with(kTrainAndSample, {"--trainer.lanes=4"})).output,
              HasSubstr("4 now, 2 before: from here on the last digits differ"));
}

TEST_F(WorkerStart, WhereNoPowerOfTwoGivesEachALane) {
  const auto folder = project("start_odd", 3);
  const auto done = launch(folder, 2, kTrainAndSample);
  EXPECT_EQ(done.code, 2) << done.output;
  EXPECT_THAT(done.output, HasSubstr("2 workers, but the batch of 3 sequences can be cut into 1 lane at "
                                     "most: the largest power of two that divides it; at most 1 worker, or a "
                                     "trainer.train_batch_size that a larger one divides"));
  const auto planned = run(folder, with(kTrainAndSample, {"--dry_run", "--world", "2"}));
  EXPECT_EQ(planned.code, 2) << planned.output;
  EXPECT_THAT(planned.output,
              HasSubstr("2 workers, but the batch of 3 sequences can be cut into 1 lane at most"));
  EXPECT_THAT(run(project("start_plan", 4), with(kTrainAndSample, {"--dry_run", "--world", "3"})).output,
              HasSubstr("4 lanes a step"));
}

// All workers draw them, wherever the parameters lie.
TEST_F(WorkerStart, SamplesAreThoseOfOneWorker) {
  const auto lanes =
      with(kTrainAndSample, {"--trainer.lanes=2", "--trainer.threads=1", "--trainer.tensor_lanes=2"});
  const auto alone = run(project("samples_alone", 4), lanes);
  ASSERT_EQ(alone.code, 0) << alone.output;
  EXPECT_THAT(samples(alone.output), HasSubstr("\"a compiler of dreams\""));
  const std::vector<std::pair<int, std::vector<std::string>>> ways = {
      {2, {}},
      {2, {"--trainer.fsdp_axis=null"}},
      {2, {"--trainer.model_axis_size=2"}},
      {4, {"--trainer.model_axis_size=2"}},
      {2, {"--trainer.context_axis_size=2"}},
  };
  for (const auto& [workers, more] : ways) {
    const auto done = launch(project("samples", 4), workers, with(lanes, more));
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr("next:"), Not(HasSubstr("NaN"))));
    EXPECT_EQ(samples(done.output), samples(alone.output)) << workers << " " << testing::PrintToString(more);
  }
}

TEST_F(WorkerStart, WhoIsLostAtTheStartIsNamed) {
  const auto folder = project("start_lost", 4);
  Launched launched(folder, 2, {}, kTrainAndSample);
  ASSERT_TRUE(launched.wait_for_workers(2)) << launched.wait().output;
  ::kill(launched.worker(1), SIGKILL);
  const auto done = launched.wait();
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output,
              testing::ContainsRegex("bora launch: worker 1 \\(host [^)]+\\) was lost \\(Killed\\); the "
                                     "same command goes on"));
  EXPECT_THAT(done.output, Not(HasSubstr("------")));
}

std::set<std::string> sockets_of(const std::vector<pid_t>& processes) {
  std::set<std::string> out;
  for (const auto process : processes) {
    const auto folder = fmt::format("/proc/{}/fd", process);
    for (const auto& name : files().list(folder)) {
      std::array<char, 64> target{};
      if (::readlink((folder + "/" + name).c_str(), target.data(), target.size() - 1) > 0)
        out.insert(target.data());
    }
  }
  return out;
}

// Addresses in hexadecimal on which these processes listen: columns 2 (address:port), 4 (0A: listens), 10
// (inode).
std::set<std::string> listening(const std::vector<pid_t>& processes) {
  const auto sockets = sockets_of(processes);
  std::set<std::string> out;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(table);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::array<std::string, 10> column;
      for (auto& word : column) words >> word;
      if (column[3] == "0A" && sockets.contains("socket:[" + column[9] + "]"))
        out.insert(column[1].substr(0, column[1].find(':')));
    }
  }
  return out;
}

TEST_F(WorkerStart, NothingListensBeyondThisMachine) {
  if (!exists(parent_path(BORA_PROGRAM) + "/../../plugins/mpi/libbora_loopback.so"))
    GTEST_SKIP() << "the library for it is not built";
  const auto folder = project("start_listen", 4);
  Launched launched(folder, 2, {}, with(kTrainAndSample, {"--trainer.num_train_steps=20000"}));
  ASSERT_TRUE(launched.wait_for_step(2)) << launched.wait().output;
  const auto addresses = listening(launched.started());
  EXPECT_FALSE(addresses.empty()) << "mpirun listens";
  for (const auto& address : addresses)
    EXPECT_THAT(address, AnyOf("0100007F", "00000000000000000000000001000000"));
  ::kill(launched.pid(), SIGTERM);
  EXPECT_EQ(launched.wait().code, 75);
}

}  // namespace
}  // namespace bora::golden
