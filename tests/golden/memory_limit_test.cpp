// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Memory that ends, at many sizes of it: words and an exit code, nothing half-written, and the same command goes on where
// there is more. BORA_TEST_MEMORY_LIMITS is how many sizes.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/env.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

constexpr std::int64_t kMiB = 1024;  // of what ulimit counts

Finished run_within(const std::string& folder, std::int64_t kib, const Arguments& arguments) {
  return run_after(folder, fmt::format("ulimit -v {}", kib), arguments);
}

std::int64_t wanted_limits() {
  return parse_int(env::for_tests("BORA_TEST_MEMORY_LIMITS").value_or("3")).value_or(3);
}

// Checkpoints without a manifest; and `clean`, after a run that went well: names that look unfinished.
void expect_nothing_half_written(const std::string& folder, bool clean) {
  for (const auto& name : files().list(folder)) {
    const auto path = path_join(folder, name);
    EXPECT_FALSE(clean && name.ends_with(".tmp")) << path;
    if (!files().info(path)->is_directory) continue;
    if (name.starts_with("step-")) {
      EXPECT_TRUE(exists(path_join(path, "manifest.json"))) << path;
    }
    expect_nothing_half_written(path, clean);
  }
}

void expect_told(const Finished& done) {
  EXPECT_EQ(done.code, 1) << done.output;
  EXPECT_THAT(done.output,
              testing::ContainsRegex("bora: (.*out of memory|.*Cannot allocate memory|memory: |a thread)"));
  EXPECT_THAT(done.output, AllOf(HasSubstr("hint: "), Not(HasSubstr("terminate called")),
                                 Not(HasSubstr("internal error"))));
}

// Limits from too little to load anything up to what a small run needs, on two cores about 700 MiB; nobody knows what is
// enough elsewhere.
void expect_told_at_all_limits(const std::string& project, const Arguments& arguments) {
  const auto count = wanted_limits();
  int refused = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto mib = i == 0 ? 100 : 512 + 300 * (i - 1) / count;
    const auto folder = copy_project(project, "memory_limited", 1 << 20);
    SCOPED_TRACE(testing::Message() << arguments[0] << " within " << mib << " MiB");
    const auto done = run_within(folder, mib * kMiB, arguments);
    expect_nothing_half_written(folder, done.code == 0);
    if (done.code == 0) continue;
    ++refused;
    expect_told(done);
    const auto again = run(folder, arguments);
    EXPECT_EQ(again.code, 0) << again.output;
    expect_nothing_half_written(folder, true);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, 0) << arguments[0];
}

TEST(MemoryLimit, IsTold) {
  const auto project = small_project("memory");
  expect_told_at_all_limits(project, {"cache", "config.yaml"});
  expect_told_at_all_limits(project, {"train", "config.yaml", "--trainer.num_train_steps=3"});
  const auto made = run(project, {"train", "config.yaml", "--trainer.num_train_steps=2", "--hf_export=true"});
  ASSERT_EQ(made.code, 0) << made.output;
  files().rename(project + "/runs/run/hf", project + "/hf");
  remove_all(project + "/runs");
  expect_told_at_all_limits(project, {"generate", "hf", "the moon", "--max_new_tokens", "3"});
  expect_told_at_all_limits(project, {"import", "hf", "runs/imported"});
}

}  // namespace
}  // namespace bora::golden
