// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <gtest/gtest.h>

#include <cstdlib>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/run/train_run.h"

namespace bora::run {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

class RunPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("RUN_ID");
    write_atomically(path_, "data: {train_urls: [a.txt]}\nmodel: {type: gpt2}\n");
  }
  void TearDown() override { ::unsetenv("RUN_ID"); }

  RunPlace place(const Overrides& overrides) { return run_place(load_config({path_}, overrides).config); }
  std::string name(const Overrides& overrides) { return place(overrides).id; }

  static constexpr const char* kOlderName = "calm-kestrel-36";
  std::string path_ = testing::TempDir() + "bora_run_place.yaml";
};

TEST_F(RunPlaceTest, WhatDoesNotDecideTheTrainingKeepsTheName) {
  const auto same = name({});
  for (const auto& [key, value] : Overrides{{"trainer.tracker", "[{type: tensorboard, logdir: elsewhere}]"},
                                            {"trainer.wandb", "{project: p}"},
                                            {"trainer.stop_at_step", "7"},
                                            {"trainer.threads", "3"},
                                            {"trainer.device", "cpu"},
                                            {"trainer.cuda_graphs", "false"},
                                            {"trainer.load_checkpoint", "true"},
                                            {"trainer.crash_on_nan", "false"},
                                            {"trainer.crash_on_inf", "false"},
                                            {"trainer.checkpointer.save_interval", "1m"},
                                            {"trainer.checkpointer.base_path", "elsewhere"},
                                            {"trainer.peak_flops", "1e12"},
                                            {"trainer.profiler", "true"},
                                            {"trainer.watch", "{interval: 3}"},
                                            {"data.cache_dir", "elsewhere"},
                                            {"sample.prompts", "[Once]"},
                                            {"hf_export", "true"},
                                            {"hf_save_path", "exports"},
                                            {"hf_save_steps", "5"},
                                            {"hf_save_dtype", "bf16"},
                                            {"trainer.num_train_steps", "7"},
                                            {"trainer.steps_per_eval", "7"},
                                            {"trainer.max_eval_batches", "7"},
                                            {"data.validation_urls", "[b.txt]"},
                                            {"data.tags", "[code]"}}) {
    EXPECT_EQ(name({{key, value}}), same) << key;
  }
}

// Who comes with a newer program finds the runs of the older ones: a key that is new is in kLaterKeys.
TEST_F(RunPlaceTest, TheNameOfAConfigurationStays) {
  EXPECT_EQ(name({}), "gentle-yak-49");
  EXPECT_EQ(name({{"cross_entropy_chunk", "1024"}}), "gentle-yak-49");
  EXPECT_NE(name({{"data.format", "{type: chat, chat_date: 2024-07-26}"}}),
            name({{"data.format", "{type: chat}"}}));
}

// Runs were once called by their number of steps and their evaluation, too. (The name is one of that time.)
TEST_F(RunPlaceTest, ARunOfAnOlderProgramIsFound) {
  const auto base = testing::TempDir() + "bora_older_runs";
  const Overrides now = {{"trainer.num_train_steps", "7"}, {"trainer.checkpointer.base_path", base}};
  const auto config = load_config({path_}, now).config;
  files().make_directories(base);
  const auto fresh = name(now);
  EXPECT_EQ(fresh, "gentle-yak-49");
  files().make_directories(path_join(base, kOlderName));
  EXPECT_EQ(name(now), kOlderName);
  files().make_directories(path_join(base, fresh));
  EXPECT_EQ(name(now), fresh) << "what this program began comes first";
  remove_all(base);
}

TEST_F(RunPlaceTest, WhatDecidesTheTrainingChangesIt) {
  const auto before = name({});
  for (const auto& [key, value] : Overrides{{"trainer.seed", "1"},
                                            {"trainer.train_batch_size", "8"},
                                            {"trainer.lanes", "1"},
                                            {"trainer.mp", "bfloat16"},
                                            {"optimizer.learning_rate", "1e-3"},
                                            {"model.hidden_dim", "96"},
                                            {"data.train_urls", "[b.txt]"},
                                            {"data_seed", "3"},
                                            {"cross_entropy_chunk", "512"},
                                            {"z_loss_weight", "0.1"},
                                            {"initialize_from_hf", "somewhere"}}) {
    EXPECT_NE(name({{key, value}}), before) << key;
  }
}

TEST_F(RunPlaceTest, GivenNames) {
  const std::pair<std::string, std::string> wandb{"trainer.wandb", "{id: from-wandb}"};
  EXPECT_EQ(name({wandb}), "from-wandb");
  ::setenv("RUN_ID", "from-environment", 1);
  EXPECT_EQ(name({wandb}), "from-environment");
  EXPECT_EQ(name({wandb, {"trainer.id", "mine"}}), "mine");
  EXPECT_EQ(place({{"trainer.id", "mine"}, {"trainer.checkpointer.base_path", "runs"}}).directory,
            "runs/mine");
}

TEST_F(RunPlaceTest, ANameMustBeADirectory) {
  ::setenv("RUN_ID", "a/b", 1);
  try {
    place({});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    EXPECT_STREQ(
        e.what(),
        "the run's name \"a/b\" cannot be the name of a directory\nhint: it comes from trainer.id, the "
        "variable RUN_ID or the id of the W&B tracker");
  }
}

}  // namespace
}  // namespace bora::run
