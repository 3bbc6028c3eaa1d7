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

class KeptTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    remove_all(run_);
    files().make_directories(folder_);
    write_atomically(path_join(run_, "a.txt"), "one text");
    data_.single.train_urls = {path_join(run_, "a.txt")};
    data_.train_tokenizer = data::TrainTokenizerConfig();
    data_.train_tokenizer->vocab_size = 300;
  }
  void TearDown() override { remove_all(run_); }
  void keep() const { Tokenizer::from_json(tokenize::kTiny).save(folder_); }
  void save_checkpoint() const {
    files().make_directories(path_join(run_, "step-1"));
    write_atomically(path_join(run_, "step-1/manifest.json"), "{}");
  }

  const std::string run_ = testing::TempDir() + "bora_kept_tokenizer", folder_ = path_join(run_, "tokenizer");
  data::DataConfig data_;
};

TEST_F(KeptTokenizer, IsThatOfItsSettingsAlone) {
  EXPECT_FALSE(is_kept(folder_, data_));
  keep();
  write_settings(folder_, data_);
  EXPECT_TRUE(is_kept(folder_, data_));
  data_.train_tokenizer->vocab_size = 400;
  data_.train_tokenizer->kind = "unigram";
  EXPECT_FALSE(is_kept(folder_, data_));
  EXPECT_THAT(changed_settings(folder_, *data_.train_tokenizer),
              ElementsAre(R"(kind "bpe" -> "unigram")", "vocab_size 300 -> 400"));
}

// A start before the first checkpoint may have had other texts.
TEST_F(KeptTokenizer, IsThatOfItsTextsUntilThereIsACheckpoint) {
  keep();
  write_settings(folder_, data_);
  write_atomically(path_join(run_, "a.txt"), "another text");
  EXPECT_FALSE(is_kept(folder_, data_));
  EXPECT_TRUE(is_kept_by_first(folder_, data_)) << "which has seen to it";
  save_checkpoint();
  EXPECT_TRUE(is_kept(folder_, data_));
}

TEST_F(KeptTokenizer, OfBeforeItsSettingsWereWrittenDown) {
  keep();
  EXPECT_FALSE(is_kept(folder_, data_)) << "a start was killed here";
  save_checkpoint();
  EXPECT_TRUE(is_kept(folder_, data_));
  data_.train_tokenizer->vocab_size = 1;
  EXPECT_FALSE(is_kept(folder_, data_));
  write_atomically(path_join(folder_, "trained_with.json"), "[]");
  EXPECT_FALSE(is_kept(folder_, data_)) << "no settings are these";
}

}  // namespace
}  // namespace bora::run
