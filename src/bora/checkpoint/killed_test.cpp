// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A process that does nothing but save and prune, killed at any moment. BORA_KILL_ROUNDS is how often.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "bora/base/env.h"
#include "bora/base/text.h"
#include "bora/checkpoint/checkpointer.h"
#include "bora/checkpoint/restore.h"
#include "bora/checkpoint/test_files.h"

namespace bora::checkpoint {
namespace {

using namespace test;

constexpr std::int64_t kRuns = 7;

// Made before there is another process: what a step has depends on its number alone.
const std::vector<TinyRun>& runs() {
  static const std::vector<TinyRun> all = [] {
    std::vector<TinyRun> out;
    for (std::uint64_t i = 0; i < kRuns; ++i) out.emplace_back(100 * i, 400);
    return out;
  }();
  return all;
}
const TinyRun& run_at(std::int64_t step) { return runs()[static_cast<std::size_t>(step % kRuns)]; }

// A temporary one at each step, of which the newest stays, and every fifth for good.
CheckpointerConfig rules() {
  CheckpointerConfig out;
  out.save_interval = Duration{0};
  out.keep = {KeepConfig{.every = 5}};
  return out;
}

// Saves until it is killed; tells of every third step when it is certainly there.
[[noreturn]] void save_for_ever(const std::string& directory, std::int64_t step, int tell) {
  Checkpointer checkpointer(rules(), directory, {.max_shard_bytes = 8000});
  TinyRun live(1, 400);
  (void)checkpointer.restore(live.parameters(), live.optimizer());
  for (;;) {
    ++step;
    checkpointer.on_step(step, [&] { return run_at(step).content(step); });
    if (step % 3 != 0) continue;
    checkpointer.wait();
    if (::write(tell, &step, sizeof step) != sizeof step) ::_exit(1);
  }
}

std::int64_t last_told(int from) {
  std::int64_t last = 0, step = 0;
  while (::read(from, &step, sizeof step) == sizeof step) last = step;
  return last;
}

TEST(Killed, WhileSavingAndPruningTheNewestIsWhole) {
  Folder folder;
  const auto directory = folder / "run";
  const auto rounds = parse_int(env::for_tests("BORA_KILL_ROUNDS").value_or("40")).value_or(40);
  const Key key = Key::from_seed(3);
  (void)runs();
  std::int64_t at = 0, saved = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      save_for_ever(directory, at, ends[1]);
    }
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(key.below(12000, static_cast<std::uint64_t>(round))));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
    const auto told = std::max(saved, last_told(ends[0]));
    ::close(ends[0]);
    if (!exists(directory)) continue;

    const auto committed = committed_checkpoints(directory);
    Checkpointer next(rules(), directory);  // what a dead process left goes
    TinyRun live(1, 400);
    const auto restored = next.restore(live.parameters(), live.optimizer());
    SCOPED_TRACE(testing::Message() << "round " << round << ", told of step " << told);
    ASSERT_EQ(restored.has_value(), !committed.empty());
    for (const auto& name : files().list(directory))
      EXPECT_TRUE(name == ".lock" || name.starts_with("step-")) << "left: " << name;
    if (!restored) {
      ASSERT_EQ(told, 0);
      continue;
    }
    at = restored->manifest.step;
    EXPECT_EQ(base_name(committed.back()), checkpoint_name(at)) << "the last that was committed";
    EXPECT_GE(at, told);
    EXPECT_TRUE(live.equals(run_at(at)));
    EXPECT_EQ(restored->state["step"], at);
    if (HasFailure()) return;
    saved = at;
  }
  EXPECT_GT(at, 0) << "no child lived long enough";
}

}  // namespace
}  // namespace bora::checkpoint
