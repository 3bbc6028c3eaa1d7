// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/kept_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/tokenize/tokenize_test_util.h"

namespace bora::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class KeptTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    remove_all(folder_);
    wanted_.vocab_size = 300;
  }
  void TearDown() override { remove_all(folder_); }
  void keep() const { Tokenizer::from_json(tokenize::kTiny).save(folder_); }

  const std::string folder_ = testing::TempDir() + "bora_kept_tokenizer";
  data::TrainTokenizerConfig wanted_;
};

TEST_F(KeptTokenizer, IsThatOfItsSettingsAlone) {
  EXPECT_FALSE(is_kept(folder_, wanted_));
  keep();
  write_settings(folder_, wanted_);
  EXPECT_TRUE(is_kept(folder_, wanted_));
  wanted_.vocab_size = 400;
  wanted_.kind = "unigram";
  EXPECT_FALSE(is_kept(folder_, wanted_));
  EXPECT_THAT(changed_settings(folder_, wanted_),
              ElementsAre(R"(kind "bpe" -> "unigram")", "vocab_size 300 -> 400"));
}

TEST_F(KeptTokenizer, OfBeforeItsSettingsWereWrittenDown) {
  keep();
  EXPECT_TRUE(is_kept(folder_, wanted_));
  wanted_.vocab_size = 1;
  EXPECT_FALSE(is_kept(folder_, wanted_));
  write_atomically(path_join(folder_, "trained_with.json"), "[]");
  EXPECT_FALSE(is_kept(folder_, wanted_)) << "no settings are these";
}

}  // namespace
}  // namespace bora::run
