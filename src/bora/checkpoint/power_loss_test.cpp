// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Checkpoints and exports when the power goes at any moment, by a model of what a kernel may have written by
// then (base/power_loss_files.h). BORA_TEST_POWER_LOSSES is the number of schedules of each test.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bora/base/env.h"
#include "bora/base/power_loss_files.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpoint.h"
#include "bora/checkpoint/checkpointer.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/staged_directory.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using namespace test;

std::uint64_t schedules() {
  return static_cast<std::uint64_t>(
      parse_int(env::for_tests("BORA_TEST_POWER_LOSSES").value_or("300")).value_or(300));
}

/// A disk, and how many operations it had seen when each call had returned.
struct History {
  explicit History(bool can_exchange = true) : disk(can_exchange) {}
  template <class Body>
  void then(Body&& body) {
    const ScopedFileSystem scope(disk);
    body();
    ends.push_back(disk.operations());
  }
  /// The power goes at a random moment; `check` is told how many calls had returned.
  template <class Check>
  void with_power_losses(Check&& check) const {
    for (std::uint64_t n = 0; n < schedules(); ++n) {
      const auto luck = Key::from_seed(n);
      const auto at = luck.below(disk.operations() + 1, 1'000'000);
      const auto after = disk.after_power_loss(at, luck);
      const auto returned = std::count_if(ends.begin(), ends.end(), [&](auto end) { return end <= at; });
      const ScopedFileSystem scope(*after);
      SCOPED_TRACE(testing::Message() << "seed " << n << ", after " << at << " operations");
      check(returned);
      if (testing::Test::HasFailure()) return;
    }
  }
  PowerLossFiles disk;
  std::vector<std::size_t> ends;
};

// The newest checkpoint that is whole, with its bits; 0 where there is none.
std::int64_t restored(const std::string& directory) {
  TinyRun live(999);
  if (!exists(directory)) return 0;
  clean_leftovers(directory);
  const auto found = restore_latest(directory, live.parameters(), live.optimizer());
  if (!found) return 0;
  EXPECT_TRUE(live.equals(TinyRun(static_cast<std::uint64_t>(found->manifest.step)))) << found->manifest.step;
  EXPECT_EQ(found->state["loader"], found->manifest.step * 7);
  return found->manifest.step;
}

TinyRun seeded_run(std::int64_t step) { return TinyRun(static_cast<std::uint64_t>(step)); }

TEST(PowerLoss, ASavedCheckpointStaysAndAnotherIsWholeOrNotThere) {
  History history;
  for (const std::int64_t step : {10, 20, 30})
    history.then(
        [&] { save_checkpoint("runs/run", seeded_run(step).content(step), {.max_shard_bytes = 1300}); });
  testing::internal::CaptureStderr();
  history.with_power_losses([&](std::int64_t saved) {
    const auto step = restored("runs/run");
    EXPECT_THAT(step, testing::AnyOf(saved * 10, saved * 10 + 10));
    EXPECT_EQ(restored("runs/run"), step) << "the same at the second start";
  });
  testing::internal::GetCapturedStderr();
}

// The one before is removed after a new one is there, and removed ones do not come back in part.
TEST(PowerLoss, PruningLeavesTheNewestWhole) {
  History history;
  for (const std::int64_t step : {10, 20, 30, 40}) {
    history.then([&] { save_checkpoint("runs/run", seeded_run(step).content(step, /*temporary=*/true)); });
    history.then([&] {
      if (step > 10) remove_checkpoint(fmt::format("runs/run/step-{}", step - 10));
    });
  }
  testing::internal::CaptureStderr();
  history.with_power_losses([&](std::int64_t returned) {
    const auto saved = (returned + 1) / 2 * 10;  // each is saved, then the one before removed
    const auto step = restored("runs/run");
    EXPECT_THAT(step, testing::AnyOf(saved, saved + 10));
    for (const auto& path : committed_checkpoints("runs/run"))
      EXPECT_NO_THROW(verify_checkpoint(path)) << path;
  });
  testing::internal::GetCapturedStderr();
}

// An export is the one before or the new one, and never files of both.
class PowerLossOfExports : public testing::TestWithParam<bool> {};

TEST_P(PowerLossOfExports, AreOldOrNew) {
  History history(GetParam());
  const auto write = [](const std::string& words) {
    StagedDirectory staged("exports/hf");
    for (const auto* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
      const auto file = files().create(path_join(staged.path(), name));
      file->write(as_bytes(words + name));
      file->sync();
      file->close();
    }
    staged.put_in_place();
  };
  for (const auto* words : {"first ", "second ", "third "}) history.then([&] { write(words); });
  testing::internal::CaptureStderr();
  history.with_power_losses([&](std::int64_t returned) {
    const auto content = [](const char* name) {
      const auto path = path_join("exports/hf", name);
      return exists(path) ? read_text(path) : std::string("none");
    };
    if (exists("exports"))
      StagedDirectory next("exports/hf");  // whoever writes next puts right what it finds
    const std::vector<std::string> words = {"", "first ", "second ", "third "};
    const auto is = [&](std::int64_t i) {
      const auto& w = words.at(static_cast<std::size_t>(i));
      if (i == 0) return content("config.json") == "none";
      return content("config.json") == w + "config.json" &&
             content("model.safetensors") == w + "model.safetensors" &&
             content("tokenizer.json") == w + "tokenizer.json";
    };
    EXPECT_TRUE(is(returned) || (returned < 3 && is(returned + 1)))
        << returned << ": " << content("config.json") << ", " << content("model.safetensors");
  });
  testing::internal::GetCapturedStderr();
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutExchange, PowerLossOfExports, testing::Bool(),
                         [](const auto& can) { return can.param ? "exchange" : "rename"; });

}  // namespace
}  // namespace bora::checkpoint
