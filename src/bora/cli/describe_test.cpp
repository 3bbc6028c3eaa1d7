// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/describe.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/models/test_builtin_models.h"

namespace bora::cli {
namespace {

using testing::HasSubstr;

// The lines of `bora --describe what`.
std::vector<std::string> described(const std::string& what) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(describe({what}), 0);
  std::fflush(stdout);
  auto text = testing::internal::GetCapturedStdout();
  std::vector<std::string> lines;
  for (auto line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

TEST(Describe, EveryKeyHasATypeAndAMeaning) {
  int keys = 0;
  for (const auto& line : described("config")) {
    if (!line.starts_with("| `")) continue;
    ++keys;
    EXPECT_FALSE(line.ends_with("|  |")) << "no description where it is bound: " << line;
    EXPECT_THAT(line, testing::Not(HasSubstr("` |  |"))) << "no type: " << line;
  }
  EXPECT_GT(keys, 150);
}

TEST(Describe, KeysStandInTheirBlocks) {
  auto lines = described("config");
  EXPECT_THAT(lines, testing::Contains("## Top level"));
  EXPECT_THAT(lines, testing::Contains("### model, type: gpt2"));
  EXPECT_THAT(lines, testing::Contains(
                         testing::StartsWith("| `model.type` | string | `llama` | architecture: gpt2 or ")));
  EXPECT_EQ(
      std::count_if(lines.begin(), lines.end(), [](auto& l) { return l.starts_with("| `model.type` "); }), 1);
  EXPECT_THAT(
      lines,
      testing::Contains(
          "| `trainer.seed` | integer, from 0 to 9223372036854775807 | `0` | of weights, dropout and data order |"));
  EXPECT_THAT(lines,
              testing::Contains(testing::StartsWith("| `data.shuffle.io_block_size` | integer, from 1 to ")));
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("| `trainer.tracker[].logdir` | string | ")));
  for (const char* heading :
       {"### optimizer, type: adam", "### optimizer, type: sgd", "### trainer.tracker, type: wandb",
        "### data.format, type: chat", "### data.shuffle, type: era"})
    EXPECT_THAT(lines, testing::Contains(heading));
  for (const char* key :
       {"optimizer.beta1", "optimizer.momentum", "optimizer.warmup", "lora.r", "lora.use_rslora",
        "trainer.profiler.enabled", "data.format.messages_field", "data.format.pack", "data.shuffle.type"}) {
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [&](auto& l) { return l.starts_with(fmt::format("| `{}` ", key)); }),
              1)
        << key;
  }
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith(
                         "| `data.spec_augment.mask_time_length` | integer, from 1 to 2147483647 | `10` |")))
      << "a section that is absent by default has defaults too";
  EXPECT_THAT(lines, testing::Contains("| `trainer.ray` | workers are started by mpirun; see the guide |"));
}

TEST(Describe, EveryVariable) {
  EXPECT_THAT(described("environment"), testing::Contains("| `RUN_ID` | identity of the run |"));
}

TEST(Describe, SomethingElse) {
  try {
    describe({"weather"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Usage);
    EXPECT_STREQ(e.what(), "--describe: \"weather\" is not one of config, environment");
  }
}

}  // namespace
}  // namespace bora::cli
