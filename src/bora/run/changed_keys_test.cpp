// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/changed_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"

namespace bora::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ChangedKeys : public testing::Test {
 protected:
  void SetUp() override { files().make_directories(folder_); }
  void TearDown() override { remove_all(folder_); }

  static LmConfig config(const std::string& more) {
    const auto path = testing::TempDir() + "bora_changed_keys.yaml";
    write_atomically(path, "data: {train_urls: [a.txt]}\nmodel: {type: gpt2}\n" + more);
    return load_config({path}, {}).config;
  }
  void record(const std::string& yaml) { write_atomically(path_join(folder_, "config.yaml"), yaml); }
  std::vector<std::string> changes(const LmConfig& now) {
    std::vector<std::string> out;
    for (const auto& change : changed_keys(folder_, now)) out.push_back(shown(change));
    return out;
  }

  std::string folder_ = testing::TempDir() + "bora_changed_keys";
};

TEST_F(ChangedKeys, AgainstTheRecordOfTheLastStart) {
  auto before = config("trainer: {seed: 1}\n");
  record(write_config(before));
  EXPECT_THAT(changes(before), IsEmpty());
  EXPECT_THAT(changes(config("trainer: {seed: 2}\noptimizer: {learning_rate: 0.1}\n")),
              ElementsAre("trainer.seed: 1 -> 2", testing::HasSubstr("optimizer.learning_rate: ")));
}

TEST_F(ChangedKeys, AnOlderProgramHadTheDefaultOfALaterKey) {
  auto before = config("");
  auto text = write_config(before);
  const auto at = text.find("z_loss_weight:");
  record(text.substr(0, at) + text.substr(text.find('\n', at) + 1));
  EXPECT_THAT(changes(before), IsEmpty());
  EXPECT_THAT(changes(config("z_loss_weight: 0.1\n")), ElementsAre("z_loss_weight: 0 -> 0.1"));
}

TEST_F(ChangedKeys, WithoutAReadableRecordNothing) {
  EXPECT_THAT(changes(config("")), IsEmpty());
  record("{");
  EXPECT_THAT(changes(config("")), IsEmpty());
}

TEST(DataOrder, WhatDecidesIt) {
  LmConfig plain, seeded;
  seeded.data_seed = 1;
  for (const char* key :
       {"data.train_urls", "data.configs.one.train_urls", "data.train_weights", "data.shuffle",
        "data.tokenizer", "data.train_tokenizer.vocab_size", "data.format.type", "data_seed", "epoch",
        "trainer.seed", "trainer.train_batch_size", "model.seq_len"})
    EXPECT_TRUE(decides_data_order(key, plain)) << key;
  for (const char* key : {"data.cache_dir", "data.configs.one.validation_urls", "data.max_download",
                          "data.tags", "optimizer.learning_rate", "trainer.num_train_steps", "trainer.lanes"})
    EXPECT_FALSE(decides_data_order(key, plain)) << key;
  EXPECT_FALSE(decides_data_order("trainer.seed", seeded));
}

}  // namespace
}  // namespace bora::run
