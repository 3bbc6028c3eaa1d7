// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Several workers train what one trains, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Eight sequences in four lanes of one accumulation step each, with dropout and a mixture.
const std::vector<std::string> kTrain = {"train", "config.yaml", "--trainer.lanes=4",
                                         "--trainer.num_train_steps=12", "--trainer.threads=1"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::string& more) {
  arguments.push_back(more);
  return arguments;
}

class WorkerBits : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  }
  static const std::string& alone() {
    static const std::string kFolder = [] {
      auto folder = small_project("worker_alone");
      auto done = run(folder, kTrain);
      EXPECT_EQ(done.code, 0) << done.output;
      return folder;
    }();
    return kFolder;
  }
  static void expect_same_as_alone(const std::string& folder) {
    EXPECT_EQ(read_text(alone() + "/runs/run/metrics.jsonl"), read_text(folder + "/runs/run/metrics.jsonl"));
    auto diff = run(folder, {"diff", alone() + "/runs/run/step-12", folder + "/runs/run/step-12"});
    EXPECT_EQ(diff.code, 0) << diff.output;
    EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
  }
};

TEST_F(WorkerBits, TwoThreeAndFourWithShardedParameters) {
  for (int workers : {2, 3, 4}) {
    auto folder = small_project("workers_" + std::to_string(workers));
    auto done = run_workers(folder, workers, kTrain);
    ASSERT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr(std::to_string(workers) + " workers, parameters sharded over them"));
    expect_same_as_alone(folder);
  }
}

TEST_F(WorkerBits, TwoAndThreeWithWholeParameters) {
  for (int workers : {2, 3}) {
    auto folder = small_project("workers_whole_" + std::to_string(workers));
    auto done = run_workers(folder, workers, with(kTrain, "--trainer.fsdp_axis=null"));
    ASSERT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, testing::Not(HasSubstr("sharded")));
    expect_same_as_alone(folder);
  }
}

TEST_F(WorkerBits, ReplicasOfShardedParameters) {
  auto folder = small_project("workers_replicas");
  auto done = run_workers(folder, 4, with(kTrain, "--trainer.replica_ici_axis_size=2"));
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("4 workers (replica 2 × data 2), parameters sharded over data"));
  expect_same_as_alone(folder);
}

// Blocks are gathered again where they are computed again, and cast each by itself; another axis is cut, some
// parameters are not, and updates are clipped by norms over all workers.
TEST_F(WorkerBits, RecomputedInSixteenBitsWithClippedUpdates) {
  auto arguments = kTrain;
  for (const char* more : {"--model.gradient_checkpointing=true", "--trainer.mp=bf16",
                           "--trainer.fsdp_axis=[mlp,vocab]", "--optimizer.update_rms_clipping=0.5"})
    arguments.emplace_back(more);
  auto one = small_project("worker_alone_bf16"), three = small_project("workers_bf16");
  auto first = run(one, arguments), second = run_workers(three, 3, arguments);
  ASSERT_EQ(first.code, 0) << first.output;
  ASSERT_EQ(second.code, 0) << second.output;
  auto diff = run(one, {"diff", one + "/runs/run/step-12", three + "/runs/run/step-12"});
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
}

TEST_F(WorkerBits, ResumedByAnotherNumber) {
  auto folder = small_project("workers_resumed");
  auto first = run_workers(folder, 3, with(kTrain, "--trainer.stop_at_step=5"));
  EXPECT_NE(first.code, 0);
  EXPECT_THAT(first.output, HasSubstr("stopped: step 5 done"));
  auto second = run_workers(folder, 2, with(kTrain, "--trainer.stop_at_step=8"));
  EXPECT_THAT(second.output, AllOf(HasSubstr("at step 5 of 12"), HasSubstr("stopped: step 8 done")));
  auto last = run(folder, kTrain);
  EXPECT_EQ(last.code, 0) << last.output;
  expect_same_as_alone(folder);
}

TEST_F(WorkerBits, MoreWorkersThanLanesAreRefused) {
  auto folder = small_project("workers_too_many");
  auto done = run_workers(folder, 3, {"train", "config.yaml", "--trainer.lanes=2", "--trainer.threads=1"});
  EXPECT_NE(done.code, 0);
  EXPECT_THAT(done.output,
              HasSubstr("3 workers were started, but the batch of 8 sequences is cut into 2 lanes"));
  EXPECT_FALSE(exists(folder + "/runs/run/step-1"));
}

}  // namespace
}  // namespace bora::golden
