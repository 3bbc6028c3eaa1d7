// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/text.h"
#include "bora/cli/commands.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::cli {
namespace {

class TrainTokenizerCommand : public testing::Test {
 protected:
  void SetUp() override {
    files().make_directories(folder_);
    write_atomically(path_join(folder_, "text.txt"), "ab ab abc\nab bc\n");
  }
  void TearDown() override { remove_all(folder_); }

  int run(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {path_join(folder_, "text.txt"), "--out", path_join(folder_, "out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto release = [] {
      testing::internal::GetCapturedStdout();
      testing::internal::GetCapturedStderr();
    };
    try {
      const int code = run_train_tokenizer(arguments);
      release();
      return code;
    } catch (...) {
      release();
      throw;
    }
  }

  std::string usage_error(const std::vector<std::string>& more) const {
    try {
      run(more);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Usage);
      EXPECT_EQ(exit_code(e.kind()), 2);
      return e.what();
    }
    return "no error";
  }

  std::string folder_ = testing::TempDir() + "/train_tokenizer_command";
};

TEST_F(TrainTokenizerCommand, EveryKindIsWritten) {
  for (const std::string kind : {"bpe", "sentencepiece-bpe", "unigram", "wordpiece"}) {
    EXPECT_EQ(run({"--kind", kind, "--vocab_size", "300", "--force"}), 0);
    const Tokenizer tokenizer = Tokenizer::load(path_join(folder_, "out"));
    EXPECT_TRUE(tokenizer.eos_id()) << kind;
    EXPECT_EQ(tokenizer.id_of("▁ab").has_value(), kind == "sentencepiece-bpe" || kind == "unigram");
    EXPECT_EQ(tokenizer.id_of("[CLS]").has_value(), kind == "wordpiece");
  }
}

TEST_F(TrainTokenizerCommand, WhatIsThereStaysUnlessForced) {
  EXPECT_EQ(run({"--vocab_size", "300"}), 0);
  const auto file = path_join(path_join(folder_, "out"), "tokenizer.json");
  const auto before = read_text(file);
  EXPECT_EQ(usage_error({"--vocab_size", "258"}),
            "train-tokenizer: " + file +
                " exists, and models may depend on it\nhint: --out ANOTHER, or --force to write over it");
  EXPECT_EQ(read_text(file), before);
  EXPECT_EQ(run({"--vocab_size", "258", "--force"}), 0);
  EXPECT_NE(read_text(file), before);
}

TEST_F(TrainTokenizerCommand, AVocabularyThatIsTooSmallIsAMistakeOfTheCommandLine) {
  EXPECT_EQ(
      usage_error({"--vocab_size", "3"}),
      "train-tokenizer: train_bpe: vocab_size is 3; 256 bytes and 1 special tokens need 257 at least, and "
      "16777216 is the most\nhint: 4,096 to 50,000 are common");
  EXPECT_EQ(
      usage_error({"--vocab_size", "3", "--kind", "wordpiece"}),
      "train-tokenizer: train_tokenizer: wordpiece: vocab_size is 3; 5 special tokens, 3 characters and 2 "
      "that continue words need 10 at least, and 16777216 is the most\nhint: 4,096 to 50,000 are common");
  EXPECT_EQ(
      usage_error({"--kind", "bep"}),
      "train-tokenizer: --kind bep is not one of bpe, sentencepiece-bpe, unigram, wordpiece; did you mean "
      "`bpe`?\nhint: bora train-tokenizer --help");
  EXPECT_THAT(usage_error({"--kind", "unigram", "--character_coverage", "2"}),
              testing::HasSubstr("--character_coverage is 2; it must be above 0 and at most 1"));
  EXPECT_FALSE(exists(path_join(folder_, "out")));
}

}  // namespace
}  // namespace bora::cli
