// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A clock on the wall that jumps by hours and years, each time it is looked at: it decides nothing of a run, and nobody
// waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

// For the programs that are started while it lives.
class Jumps {
 public:
  Jumps() { ::setenv("LD_PRELOAD", BORA_JUMPING_CLOCK, 1); }
  ~Jumps() { ::unsetenv("LD_PRELOAD"); }
  Jumps(const Jumps&) = delete;
  Jumps& operator=(const Jumps&) = delete;
};

Finished jumping(const std::string& folder, const Arguments& arguments) {
  const Jumps jumps;
  return run(folder, arguments);
}

Arguments arguments_of(const Arguments& more) {
  Arguments line{"train", "config.yaml", "--trainer.num_train_steps=6", "--trainer.threads=1"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

std::vector<std::string> checkpoints(const std::string& folder) {
  auto names = files().list(folder + "/runs/run");
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("step-"); });
  return names;
}

void expect_same(const std::string& plain, const std::string& jumped) {
  EXPECT_EQ(read_text(jumped + "/runs/run/metrics.jsonl"), read_text(plain + "/runs/run/metrics.jsonl"));
  const auto diff = run(plain, {"diff", "runs/run/step-6", jumped + "/runs/run/step-6"});
  EXPECT_EQ(diff.code, 0) << diff.output;
}

TEST(JumpingClock, DecidesNothingOfARun) {
  const Arguments hourly = {"--trainer.checkpointer.save_interval=1h",
                            "--trainer.checkpointer.keep=[{every: 4}]"};
  const auto plain = small_project("clock_plain"), jumped = small_project("clock_jumped");
  ASSERT_EQ(run(plain, arguments_of(hourly)).code, 0);
  auto stopped = hourly;
  stopped.emplace_back("--trainer.stop_at_step=3");
  const auto first = jumping(jumped, arguments_of(stopped)), second = jumping(jumped, arguments_of(hourly));
  EXPECT_EQ(first.code, 75) << first.output;
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("at step 3 of 6"));
  expect_same(plain, jumped);
  EXPECT_THAT(checkpoints(jumped), ElementsAre("step-4", "step-6")) << "no hour of its own has passed";
  for (const Arguments& look :
       {Arguments{"runs", "runs"}, Arguments{"report", "runs/run"}, Arguments{"inspect", "runs/run"},
        Arguments{"inspect", "runs/run/step-4"}, Arguments{"cache", "config.yaml", "--verify"}}) {
    const auto done = jumping(jumped, look);
    EXPECT_EQ(done.code, 0) << look[0] << ": " << done.output;
    EXPECT_THAT(done.output, AllOf(Not(HasSubstr("warning")), Not(HasSubstr("damaged")))) << look[0];
  }
  EXPECT_THAT(jumping(jumped, {"runs", "runs"}).output, HasSubstr("finished"));
}

// Temporary checkpoints come by the time that has passed, and the newest stays, whatever dates they have.
TEST(JumpingClock, PrunesByStep) {
  const auto folder = small_project("clock_pruned");
  const auto done =
      jumping(folder, arguments_of({"--trainer.checkpointer.save_interval=0.001s",
                                    "--trainer.checkpointer.keep=[]", "--trainer.stop_at_step=5"}));
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(checkpoints(folder), ElementsAre("step-5"));
}

TEST(JumpingClock, NamesRunsAndHoldsLocks) {
  const auto folder = small_project("clock_names");
  const auto once = [&](const char* stop) {
    return jumping(folder,
                   arguments_of({"--trainer.id=null", std::string("--trainer.stop_at_step=") + stop}));
  };
  EXPECT_EQ(once("1").code, 75);
  EXPECT_THAT(once("2").output, HasSubstr("at step 1 of 6")) << "the same run by its configuration";
  const auto names = files().list(folder + "/runs");
  ASSERT_EQ(names.size(), 1U);
  const auto lock = files().try_lock(folder + "/runs/" + names[0] + "/.lock");
  const auto refused = once("3");
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("in use by process "));
}

TEST(JumpingClock, LosesNoWorker) {
  if (!can_run_workers()) GTEST_SKIP() << "mpirun or the MPI plug-in is not here";
  const auto alone = small_project("clock_alone"), together = small_project("clock_together");
  const Arguments waiting = {"--trainer.worker_timeout=20", "--trainer.check_replicas_every=1"};
  ASSERT_EQ(run(alone, arguments_of(waiting)).code, 0);
  {
    const Jumps jumps;
    const auto done = run_workers(together, 2, arguments_of(waiting));
    EXPECT_EQ(done.code, 0) << done.output;
  }
  expect_same(alone, together);
}

}  // namespace
}  // namespace bora::golden
