// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The promise of the project: the same bits on every run, for any number of threads, and after every resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/clock.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/key.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

Finished train(const std::string& folder, const std::vector<std::string>& more = {}, double kill_after = 0) {
  std::vector<std::string> arguments = {"train", "config.yaml"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(folder, arguments, kill_after);
}

void expect_same_run(const std::string& a, const std::string& b) {
  EXPECT_EQ(read_text(a + "/runs/run/metrics.jsonl"), read_text(b + "/runs/run/metrics.jsonl"));
  auto diff = run(a, {"diff", a + "/runs/run/step-40", b + "/runs/run/step-40"});
  EXPECT_EQ(diff.code, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr("bit-equal"));
}

// The run that the others must equal, trained once.
const std::string& undisturbed() {
  static const std::string kFolder = [] {
    auto folder = small_project("undisturbed");
    auto done = train(folder, {"--trainer.threads=1"});
    EXPECT_EQ(done.code, 0) << done.output;
    return folder;
  }();
  return kFolder;
}

TEST(Bits, AgainAndWithOtherThreads) {
  for (const char* threads : {"1", "2", "3"}) {
    auto folder = small_project(std::string("threads_") + threads);
    auto done = train(folder, {std::string("--trainer.threads=") + threads});
    ASSERT_EQ(done.code, 0) << done.output;
    expect_same_run(undisturbed(), folder);
  }
}

TEST(Bits, StoppedAndResumed) {
  auto folder = small_project("resumed");
  auto first = train(folder, {"--trainer.stop_at_step=17"});
  EXPECT_EQ(first.code, 75) << first.output;
  EXPECT_THAT(first.output, HasSubstr("step-17"));
  auto second = train(folder);
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_THAT(second.output, HasSubstr("at step 17 of 40"));
  expect_same_run(undisturbed(), folder);
}

TEST(Bits, ResumedOnAnotherKindOfCpuSaysSo) {
  auto folder = small_project("resumed_elsewhere");
  train(folder, {"--trainer.stop_at_step=3"});
  const auto file = folder + "/runs/run/run.json";
  auto record = parse_json(read_text(file), file);
  const std::string here = record["arithmetic"];
  record["arithmetic"] = "AVX1";
  write_atomically(file, record.dump());
  auto second = train(folder, {"--trainer.stop_at_step=4"});
  EXPECT_THAT(second.output, HasSubstr(here + " now, AVX1 before: from here on the last digits differ"));
  write_atomically(file, "damaged");
  auto third = train(folder, {"--trainer.stop_at_step=5"});
  EXPECT_THAT(third.output, testing::AllOf(HasSubstr("resumed"), testing::Not(HasSubstr("arithmetic"))));
}

TEST(Bits, KilledTwentyTimes) {
  auto folder = small_project("killed");
  auto key = Key::from_seed(2026);
  for (std::uint64_t i = 0; i < 20; ++i) train(folder, {}, 0.1 + 0.7 * key.uniform(i));
  auto done = train(folder);
  ASSERT_EQ(done.code, 0) << done.output;
  expect_same_run(undisturbed(), folder);
}

TEST(Bits, AnotherSeedIsAnotherRun) {
  auto folder = small_project("seed");
  ASSERT_EQ(train(folder, {"--trainer.seed=1"}).code, 0);
  auto diff = run(folder, {"diff", undisturbed() + "/runs/run/step-40", folder + "/runs/run/step-40"});
  EXPECT_EQ(diff.code, 1);
  EXPECT_THAT(diff.output, HasSubstr("differ:"));
}

// One pass over data that is less than the steps ask for ends the run, with all that belongs to an end.
// The time to the first step does not count what the process was before: `./bora` sets up and builds.
TEST(FirstStep, CountsFromTheProgramsOwnStart) {
  const auto folder = small_project("first_step");
  const double before = monotonic_seconds();
  const auto done = run_after_a_second(folder, {"train", "config.yaml", "--trainer.num_train_steps=2"});
  const double all = monotonic_seconds() - before;
  ASSERT_EQ(done.code, 0) << done.output;
  const auto at = done.output.find("first step ");
  ASSERT_NE(at, std::string::npos) << done.output;
  EXPECT_LE(std::stod(done.output.substr(at + 11)), all - 1 + 0.05);  // printed with one decimal
}

TEST(EndOfData, EndsTheRun) {
  auto folder = small_project("end_of_data");
  auto done = run(folder, {"train", "config.yaml", "--epoch=1", "--trainer.num_train_steps=100000",
                           "--trainer.threads=1"});
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, testing::HasSubstr(" instead of 100000: the data is read up then"));
  EXPECT_THAT(done.output, testing::HasSubstr("checkpoint runs/run/step-"));
}

}  // namespace
}  // namespace bora::golden
