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
    const auto changes = changed_keys(folder_, now);
    if (!changes) return {"not known"};
    for (const auto& change : *changes) out.push_back(shown(change));
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

TEST_F(ChangedKeys, WithoutAReadableRecordNobodyKnows) {
  EXPECT_THAT(changes(config("")), ElementsAre("not known"));
  record("{");
  EXPECT_THAT(changes(config("")), ElementsAre("not known"));
}

// Their sequences are dealt by it.
TEST_F(ChangedKeys, DataSetsInAnotherOrder) {
  const auto with = [](const std::string& sets) {
    const auto path = testing::TempDir() + "bora_changed_keys_order.yaml";
    write_atomically(path, "data: {configs: {" + sets + "}}\nmodel: {type: gpt2}\n");
    return load_config({path}, {}).config;
  };
  const std::string a = "a: {train_urls: [a.txt]}", b = "b: {train_urls: [b.txt]}";
  auto before = with(a + ", " + b);
  record(write_config(before));
  EXPECT_THAT(changes(before), IsEmpty());
  const auto swapped = with(b + ", " + a);
  EXPECT_THAT(changes(swapped), testing::Contains("data.configs: a, b -> b, a"));
  EXPECT_TRUE(decides_data_order("data.configs", swapped));
}

TEST(DataOrder, WhatDecidesIt) {
  LmConfig plain, seeded;
  seeded.data_seed = 1;
  for (const char* name : {"one", "tags"})
    plain.data.configs.emplace_back(name, data::SourceConfig{.train_urls = {"a.txt"}});
  for (const char* key :
       {"data.train_urls", "data.configs.one.train_urls", "data.train_weights", "data.shuffle",
        "data.tokenizer", "data.train_tokenizer.vocab_size", "data.format.type", "data_seed", "epoch",
        "trainer.seed", "trainer.train_batch_size", "model.seq_len", "data.train_weights.tags",
        "data.max_train_batches.stream", "data.configs.tags.train_urls"})
    EXPECT_TRUE(decides_data_order(key, plain)) << key;
  for (const char* key :
       {"data.cache_dir", "data.configs.one.validation_urls", "data.max_download", "data.configs.tags.tags",
        "data.configs.one.format.ignore_token_id", "data.configs.one.cache_dir", "optimizer.learning_rate",
        "trainer.num_train_steps", "trainer.lanes"})
    EXPECT_FALSE(decides_data_order(key, plain)) << key;
  EXPECT_FALSE(decides_data_order("trainer.seed", seeded));
  // Ids that were taken in without a text are where the key says.
  plain.data.configs[0].second.train_urls.clear();
  EXPECT_TRUE(decides_data_order("data.cache_dir", plain));
  plain.data.configs[0].second.cache_dir = "ids";
  EXPECT_FALSE(decides_data_order("data.cache_dir", plain));
  EXPECT_TRUE(decides_data_order("data.configs.one.cache_dir", plain));
  plain.data.configs[0].second.validation_urls = {"b.txt"};
  EXPECT_FALSE(decides_data_order("data.configs.one.cache_dir", plain)) << "it is evaluated alone";
}

}  // namespace
}  // namespace bora::run
