// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/lm_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRecipe =
    "data:\n"
    "  cache_dir: tokens\n"
    "  configs:\n"
    "    one: {train_urls: [one.txt]}\n"
    "    two: {train_urls: [two.txt]}\n"
    "  train_weights: {one: 1, two: 3}\n"
    "  num_validation_sequences: {one: 80, two: 16}\n"
    "  max_train_batches: {two: 9}\n";

std::string recipe() {
  const auto path = testing::TempDir() + "own_files.yaml";
  write_atomically(path, kRecipe);
  return path;
}

TEST(OwnFiles, TakeThePlaceOfARecipesDataSetsAndSaySo) {
  const auto loaded = load_config({recipe()}, {{"data.train_urls", "[mine.txt]"}});
  const auto& data = loaded.config.data;
  EXPECT_EQ(data.sources().size(), 1U);
  EXPECT_EQ(data.sources().front().second.train_urls, (std::vector<std::string>{"mine.txt"}));
  EXPECT_TRUE(data.train_weights.empty() && data.max_train_batches.empty());
  EXPECT_EQ(data.num_validation_sequences.front().second, 10);
  EXPECT_THAT(
      loaded.warnings,
      ElementsAre(
          "data.train_urls takes the place of data.configs (one, two), with tokens in tokens-own; 10 of "
          "their sequences are held back (data.num_validation_sequences={data: N} for others)"));
}

TEST(OwnFiles, HaveTheirOwnNumbers) {
  const auto loaded = load_config({recipe()}, {{"data.train_urls", "[mine.txt]"},
                                               {"data.name", "mine"},
                                               {"data.num_validation_sequences", "{mine: 20}"},
                                               {"data.max_train_batches", "{mine: 7}"}});
  const auto& data = loaded.config.data;
  EXPECT_EQ(data.num_validation_sequences, (data::ByName<std::int64_t>{{"mine", 20}}));
  EXPECT_EQ(data.max_train_batches, (data::ByName<std::int64_t>{{"mine", 7}}));
  EXPECT_THAT(
      loaded.warnings,
      ElementsAre("data.train_urls takes the place of data.configs (one, two), with tokens in tokens-own"));
}

TEST(OwnFiles, BesideOthersInOneFileAreAMistake) {
  const auto path = testing::TempDir() + "both.yaml";
  write_atomically(path, std::string(kRecipe) + "  train_urls: [mine.txt]\n");
  try {
    load_config({path}, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    EXPECT_THAT(e.what(), HasSubstr("data.train_urls  is beside data.configs (" + path +
                                    ":3) in one file; put the files into one of its data sets, or leave out "
                                    "data.configs"));
  }
}

}  // namespace
}  // namespace bora::run
