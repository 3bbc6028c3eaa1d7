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
    remove_all(folder);
    wanted.vocab_size = 300;
  }
  void TearDown() override { remove_all(folder); }
  void keep() const { Tokenizer::from_json(tokenize::kTiny).save(folder); }

  const std::string folder = testing::TempDir() + "bora_kept_tokenizer";
  data::TrainTokenizerConfig wanted;
};

TEST_F(KeptTokenizer, IsThatOfItsSettingsAlone) {
  EXPECT_FALSE(is_kept(folder, wanted));
  keep();
  write_settings(folder, wanted);
  EXPECT_TRUE(is_kept(folder, wanted));
  wanted.vocab_size = 400;
  wanted.kind = "unigram";
  EXPECT_FALSE(is_kept(folder, wanted));
  EXPECT_THAT(changed_settings(folder, wanted),
              ElementsAre(R"(kind "bpe" -> "unigram")", "vocab_size 300 -> 400"));
}

TEST_F(KeptTokenizer, OfBeforeItsSettingsWereWrittenDown) {
  keep();
  EXPECT_TRUE(is_kept(folder, wanted));
  wanted.vocab_size = 1;
  EXPECT_FALSE(is_kept(folder, wanted));
  write_atomically(path_join(folder, "trained_with.json"), "[]");
  EXPECT_FALSE(is_kept(folder, wanted)) << "no settings are these";
}

}  // namespace
}  // namespace bora::run
