// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the program says to bad input, and that it leaves nothing half-done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bora/base/file.h"
#include "program.h"
#include "run_all.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_failure(const Finished& done, int code, const std::string& words) {
  EXPECT_EQ(done.code, code) << done.output;
  EXPECT_THAT(done.output, HasSubstr(words));
  EXPECT_THAT(done.output, Not(HasSubstr("internal error")));
}

TEST(BadInput, Configuration) {
  auto folder = small_project("config");
  write_atomically(folder + "/bad.yaml",
                   "model:\n  type: llama\n  num_heads: 12\n  hidden_dim: 96\n  num_kv_heads: 5\n"
                   "trainer:\n  train_batchsize: 3\noptimizer:\n  lr_schedule: cos\n");
  auto done = run(folder, {"train", "bad.yaml"});
  expect_failure(done, 2, "bad.yaml has 5 problems; nothing was started.");
  EXPECT_THAT(done.output, HasSubstr("model.num_kv_heads = 5"));
  EXPECT_THAT(done.output, HasSubstr("no files; give paths"));
  EXPECT_THAT(done.output, HasSubstr("must divide model.num_heads = 12; nearest: 4 or 6"));
  EXPECT_THAT(done.output, HasSubstr("unknown key; did you mean trainer.train_batch_size?"));
  EXPECT_THAT(done.output, HasSubstr("not one of constant, cosine"));
  EXPECT_FALSE(exists(folder + "/runs"));
  expect_failure(run(folder, {"train", "none.yaml"}), 2, "none.yaml");
  expect_failure(run(folder, {"train"}), 2, "no configuration");
  expect_failure(run(folder, {"trian"}), 2, "did you mean `train`?");
  expect_failure(run(folder, {"train", "config.yaml", "--trainer.lanes=3"}), 2, "must be a power of two");
  expect_failure(run(folder, {"train", "config.yaml", "--trainer.train_batch_size=9"}), 2,
                 "must divide trainer.train_batch_size = 9");
}

// A mistake that a look at the configuration shows is refused by --dry_run and by a start in the same words
// (below the summary, where there can be one).
TEST(BadInput, NumbersThatNothingCanBeDoneWith) {
  const auto folder = small_project("numbers");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--cross_entropy_chunk=0"}, "cross_entropy_chunk = 0  must be from 1 to 2147483647"},
      {{"--model.mlp_scale=0"}, "model.mlp_scale = 0  must be from 1 to 2147483647"},
      {{"--model.num_layers=-1"}, "model.num_layers = -1  must be from 1 to 2147483647"},
      {{"--model.resid_pdrop=-1"}, "model.resid_pdrop = -1  must be at least 0 and below 1"},
      {{"--z_loss_weight=-1"}, "z_loss_weight = -1  must be at least 0"},
      {{"--sample.temperature=-1"}, "sample.temperature = -1  must be at least 0"},
      {{"--hf_save_path=hf", "--hf_save_steps=0"}, "hf_save_steps = 0  must be at least 1"},
      {{"--model.hidden_dim=2000000000"}, "model.hidden_dim = 2000000000 and model.num_layers = 2 make"},
      {{"--data.train_weights={one: 0}"}, "no data set has a weight above 0 from step 0 on"}};
  std::vector<std::vector<std::string>> lines;
  for (const auto& [overrides, words] : wrong) {
    std::vector<std::string> line = {"train", "../config.yaml"};
    line.insert(line.end(), overrides.begin(), overrides.end());
    lines.push_back(line);
    line.emplace_back("--dry_run");
    lines.push_back(line);
  }
  const auto done = run_all(folder, lines);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const auto& words = wrong[i].second;  // key and message, in columns of their own
    const auto gap = words.find("  ");
    expect_failure(done[2 * i], 2, words.substr(0, gap));
    if (gap != words.npos) expect_failure(done[2 * i], 2, words.substr(gap));
    EXPECT_THAT(done[2 * i + 1].output, HasSubstr(done[2 * i].output));
    EXPECT_EQ(done[2 * i + 1].code, 2);
  }
}

// Threads never change a result: too many of them are no mistake, but are not started.
TEST(BadInput, MoreThreadsThanAMachineHas) {
  const auto folder = small_project("threads");
  const auto done =
      run(folder, {"train", "config.yaml", "--trainer.threads=100000", "--trainer.stop_at_step=1"});
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("100000 threads are more than 4 for each of the"));
}

TEST(BadInput, Texts) {
  auto folder = small_project("texts");
  auto train_on = [&](const std::string& file) {
    return run(folder, {"train", "config.yaml", "--data.train_urls=[\"" + file + "\"]",
                        "--data.cache_dir=cache-" + file, "--trainer.id=" + file});
  };
  expect_failure(train_on("missing.txt"), 2, "no file matches \"missing.txt\"");
  write_atomically(folder + "/empty.txt", "");
  EXPECT_EQ(train_on("empty.txt").code == 0, false);
  write_atomically(folder + "/latin1.txt", "caf\xe9 and more text\n");
  expect_failure(train_on("latin1.txt"), 2, "UTF-8");
  write_atomically(folder + "/short.txt", "too short");
  EXPECT_NE(train_on("short.txt").code, 0);
}

TEST(BadInput, NothingHasAWeight) {
  auto folder = small_project("no_weight");
  expect_failure(run(folder, {"train", "config.yaml", "--data.train_weights={one: 0, two: 0}"}), 2,
                 "no data set has a weight above 0 from step 0 on: there is nothing to train on");
}

TEST(BadInput, CacheOfAnotherTokenizerOrText) {
  auto folder = small_project("cache");
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.stop_at_step=1"}).code, 75);
  auto other =
      run(folder, {"train", "config.yaml", "--trainer.id=other", "--data.train_tokenizer.vocab_size=290"});
  expect_failure(other, 2, "tokenizer");
  write_atomically(folder + "/one.txt", read_text(folder + "/one.txt") + "one more line\n");
  auto changed = run(folder, {"train", "config.yaml", "--trainer.stop_at_step=2"});
  expect_failure(changed, 2, "one.txt");
}

TEST(BadInput, DamagedTokenCache) {
  auto folder = small_project("damaged_cache");
  const auto train = [&](const std::string& stop) {
    return run(folder, {"train", "config.yaml", "--trainer.stop_at_step=" + stop});
  };
  ASSERT_EQ(train("1").code, 75);
  const std::string tokens = folder + "/cache/one/train/tokens-00000.bin", whole = read_text(tokens);
  write_atomically(tokens, std::string(whole.size(), '\0'));
  expect_failure(train("2"), 3, "tokens-00000.bin: hash differs from the ledger; the file is damaged");
  expect_failure(run(folder, {"cache", "config.yaml", "--verify"}), 3, "tokens-00000.bin: hash differs");
  write_atomically(tokens, whole);
  EXPECT_EQ(train("2").code, 75);
}

TEST(BadInput, WhatIsNoFile) {
  auto folder = small_project("no_files");
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("pipe", (folder + "/pipe.txt").c_str()), 0);
  const std::string what = "a pipe, a socket or a device";
  expect_failure(run(folder, {"train", "pipe"}), 2, "pipe: " + what);
  write_atomically(folder + "/include.yaml", "model: !include /dev/zero\n");
  expect_failure(run(folder, {"train", "include.yaml"}), 2, "/dev/zero: " + what);
  expect_failure(run(folder, {"train", "config.yaml", "--data.train_urls=[\"pipe.txt\"]"}), 2,
                 "pipe.txt: is a pipe, not a file");
  expect_failure(
      run(folder, {"train", "config.yaml", "--data.train_tokenizer=null", "--data.tokenizer=pipe"}), 2,
      "pipe: is a pipe, not a file");
  files().make_directories(folder + "/model");
  write_atomically(folder + "/model/config.json", "{}");
  ASSERT_EQ(symlink("../pipe", (folder + "/model/model.safetensors").c_str()), 0);
  expect_failure(run(folder, {"inspect", "model"}), 1, "model.safetensors: is a pipe, not a file");
}

TEST(BadInput, DamagedCheckpointFallsBack) {
  auto folder = small_project("damaged");
  ASSERT_EQ(run(folder, {"train", "config.yaml", "--trainer.stop_at_step=5"}).code, 75);
  auto newest = folder + "/runs/run/step-5/";
  for (const auto& name : files().list(newest)) {
    if (!name.starts_with("model")) continue;
    auto bytes = read_text(newest + name);
    bytes[bytes.size() / 2] ^= 1;
    write_atomically(newest + name, bytes);
  }
  auto done = run(folder, {"train", "config.yaml", "--trainer.stop_at_step=6"});
  EXPECT_EQ(done.code, 75) << done.output;
  EXPECT_THAT(done.output, HasSubstr("hash differs from the manifest"));
  EXPECT_THAT(done.output, HasSubstr("at step 4 of 40"));
  EXPECT_TRUE(exists(folder + "/runs/run/step-5.damaged"));
  write_atomically(folder + "/runs/run/step-6/manifest.json", "{");
  auto again = run(folder, {"train", "config.yaml", "--trainer.stop_at_step=7"});
  EXPECT_EQ(again.code, 75) << again.output;
  EXPECT_THAT(again.output, HasSubstr("manifest.json"));
}

TEST(BadInput, TensorFiles) {
  auto folder = small_project("tensors");
  write_atomically(folder + "/cut.safetensors", std::string("\x40\0\0\0\0\0\0\0{\"a\":", 13));
  expect_failure(run(folder, {"inspect", "cut.safetensors"}), 3, "cut.safetensors");
  expect_failure(run(folder, {"diff", "cut.safetensors", "none.safetensors"}), 3, "safetensors");
  expect_failure(run(folder, {"generate", "nowhere", "Hello"}), 3, "nowhere does not exist");
  // What says nothing of it itself ends with what to do next, all the same.
  expect_failure(
      run(folder, {"inspect", "nowhere"}), 3,
      "nowhere does not exist\nhint: is the path right? It is relative to the folder in which bora was started");
  expect_failure(run(folder, {"inspect", "one.txt"}), 3,
                 "one.txt is something else, no tensor file\nhint: give a checkpoint (step-N)");
  expect_failure(run(folder, {"report", "runs/run", "--out", "no/where/r.html"}), 3,
                 "runs/run does not exist\nhint: bora runs lists the runs of a folder");
}

TEST(BadInput, UnwritableDirectory) {
  auto folder = small_project("unwritable");
  write_atomically(folder + "/file", "not a directory");
  auto done = run(folder, {"train", "config.yaml", "--trainer.checkpointer.base_path=file/runs"});
  EXPECT_NE(done.code, 0);
  EXPECT_THAT(done.output, HasSubstr("file"));
  EXPECT_THAT(done.output, Not(HasSubstr("internal error")));
}

TEST(Help, EveryCommandHasExamples) {
  auto folder = small_project("help");
  auto all = run(folder, {"--help"});
  EXPECT_EQ(all.code, 0);
  for (const char* command : {"train", "eval", "generate", "train-tokenizer", "tokenize", "cache", "import",
                              "export", "forward", "diff", "inspect", "bench", "version"}) {
    EXPECT_THAT(all.output, HasSubstr(command));
    auto help = run(folder, {command, "--help"});
    EXPECT_EQ(help.code, 0) << help.output;
    EXPECT_THAT(help.output, HasSubstr("Examples:")) << command;
  }
}

}  // namespace
}  // namespace bora::golden
