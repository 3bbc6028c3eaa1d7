// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The promise of the project: the same bits on every run, for any number of threads, and after every resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/clock.h"
#include "bora/base/file.h"
#include "bora/base/hash.h"
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

/// Makes a checkpoint one of the first order of data; its manifest stays true.
void give_first_order(const std::string& checkpoint) {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  const auto hash = [](std::string_view text) { return hash128(text).hex(); };
  const auto state = checkpoint + "/state.json", manifest = checkpoint + "/manifest.json";
  const auto before = read_text(state), after = replaced(before, "\"data_order\": 2", "\"data_order\": 1");
  auto words = replaced(read_text(manifest), hash(before), hash(after));
  const auto last = words.rfind(",\n");
  const auto own = parse_json(words, manifest)["hash"].get<std::string>();
  write_atomically(state, after);
  write_atomically(manifest, replaced(words, own, hash(std::string_view(words).substr(0, last))));
}

// Order 1: within a block of the mixture the sequences of one data set were permuted.
TEST(Bits, ARunOfTheFirstOrderOfDataKeepsIt) {
  std::vector<std::string> folders;
  for (const int stops : {1, 2}) {
    const auto folder = small_project("first_order_" + std::to_string(stops));
    folders.push_back(folder);
    train(folder, {"--trainer.stop_at_step=7"});
    give_first_order(folder + "/runs/run/step-7");
    const auto words = HasSubstr(
        "1, in which this run began; a new run has order 2: every pass over a data set is complete");
    if (stops == 2) {
      EXPECT_THAT(train(folder, {"--trainer.stop_at_step=20"}).output, words);
    }
    const auto done = train(folder);
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, words);
    EXPECT_THAT(read_text(folder + "/runs/run/step-40/state.json"), HasSubstr("\"data_order\": 1"));
  }
  expect_same_run(folders[0], folders[1]);
  EXPECT_NE(read_text(folders[0] + "/runs/run/metrics.jsonl"),
            read_text(undisturbed() + "/runs/run/metrics.jsonl"));
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
  const auto done = run_after(folder, "sleep 1", {"train", "config.yaml", "--trainer.num_train_steps=2"});
  const double all = monotonic_seconds() - before;
  ASSERT_EQ(done.code, 0) << done.output;
  const auto at = done.output.find("first step ");
  ASSERT_NE(at, std::string::npos) << done.output;
  EXPECT_LE(std::stod(done.output.substr(at + 11)), all - 1 + 0.05);  // printed with one decimal
}

TEST(EndOfData, EndsTheRun) {
  auto folder = small_project("end_of_data");
  const auto train = [&](const std::vector<std::string>& more) {
    return run(
        folder,
        with({"train", "config.yaml", "--trainer.num_train_steps=20000", "--trainer.threads=1"}, more));
  };
  const auto line = [](const std::string& output) {
    const auto at = output.find("steps  ");
    return at == output.npos ? "" : output.substr(at, output.find('\n', at) - at);
  };
  EXPECT_EQ(line(train({"--epoch=1", "--dry_run"}).output), "") << "no cache is there";
  auto done = train({"--epoch=1"});
  ASSERT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, testing::HasSubstr(" instead of 20000: the data is read up then"));
  EXPECT_THAT(done.output, testing::HasSubstr("checkpoint runs/run/step-"));
  const auto dry = train({"--epoch=1", "--trainer.id=other", "--dry_run"});
  EXPECT_EQ(line(dry.output), line(done.output)) << dry.output;
  EXPECT_EQ(line(train({"--trainer.id=other", "--dry_run"}).output), "") << "the data goes round";
  // More steps would read nothing.
  EXPECT_THAT(done.output,
              testing::HasSubstr("train config.yaml --trainer.num_train_steps=20000 --trainer.threads=1 "
                                 "--epoch=2 --accept_changes\n"));
  const auto more = train({"--epoch=2", "--accept_changes"});
  EXPECT_EQ(more.code, 0) << more.output;
  EXPECT_THAT(more.output, testing::HasSubstr(" instead of 20000: the data is read up then"));
  EXPECT_THAT(more.output, testing::HasSubstr("--epoch=4 --accept_changes\n"));
  EXPECT_NE(line(more.output), line(done.output));
}

}  // namespace
}  // namespace bora::golden
