// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/cli/commands.h"
#include "bora/store/token_cache.h"
#include "bora/tokenize/tokenizer.h"

namespace bora::cli {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class DataCommand : public testing::Test {
 protected:
  void SetUp() override {
    files().make_directories(folder_);
    std::string lines;
    for (int i = 0; i < 40; ++i)
      lines += "{\"text\": \"the same line\"}\n{\"text\": \"line " + std::to_string(i) + "\"}\n";
    write_atomically(at("a.jsonl"), lines);
    write_atomically(at("a.yaml"),
                     "data:\n  train_urls: [" + at("a.jsonl") +
                         "]\n  train_tokenizer: {vocab_size: 300}\n  cache_dir: " + at("cache") +
                         "\n  format: {pack: true}\nmodel: {type: gpt2, seq_len: 32}\n"
                         "trainer:\n  train_batch_size: 2\n  checkpointer: {base_path: " +
                         at("runs") + "}\n");
  }
  void TearDown() override { remove_all(folder_); }
  std::string at(const std::string& name) const { return path_join(folder_, name); }

  /// What a command prints.
  static std::string output(int (*command)(const Arguments&), const Words& words) {
    testing::internal::CaptureStdout();
    try {
      EXPECT_EQ(command(words), 0);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }
  static std::string refused(int (*command)(const Arguments&), const Words& words,
                             ErrorKind kind = ErrorKind::Usage) {
    try {
      output(command, words);
    } catch (const Error& e) {
      EXPECT_EQ(static_cast<int>(e.kind()), static_cast<int>(kind)) << e.what();
      return e.what();
    }
    return "no error";
  }

  std::string folder_ = testing::TempDir() + "/data_command";
};

TEST_F(DataCommand, InspectShowsABatch) {
  const std::string text = output(run_data, {"inspect", at("a.yaml"), "--step", "1", "--rows", "1"});
  EXPECT_THAT(text, HasSubstr("step 1 · 1 sequence of 32 tokens"));
  EXPECT_THAT(text, HasSubstr("row 0 · data · "));
  EXPECT_THAT(text, HasSubstr(" same line"));
  EXPECT_THAT(text, HasSubstr("┼───"));
  EXPECT_THAT(output(run_data, {"inspect", at("a.yaml"), "--html", at("batch.html")}),
              HasSubstr("written: " + at("batch.html")));
  EXPECT_THAT(read_text(at("batch.html")), HasSubstr(" same line"));
}

TEST_F(DataCommand, InspectShowsTheOrderOfTheRun) {
  const auto rows = [&] {
    const auto text = output(
        run_data, {"inspect", at("a.yaml"), "--rows", "4", "--data.shuffle", "false", "--data.format.pack",
                   "pad", "--trainer.id", "old", "--trainer.train_batch_size", "4"});
    return text.substr(text.find("row 0"));
  };
  const auto in_order = rows();
  const auto zero = in_order.find(" 0<"), one = in_order.find(" 1<");
  EXPECT_LT(in_order.find("same line"), zero);
  EXPECT_LT(zero, one) << in_order;
  EXPECT_NE(one, std::string::npos) << in_order;
  const auto checkpoint = at("runs/old/step-3");
  files().make_directories(checkpoint);
  write_atomically(path_join(checkpoint, "manifest.json"), "{}");
  write_atomically(path_join(checkpoint, "state.json"), "{\"step\": 3}");
  EXPECT_NE(rows(), in_order) << "a run of the first order";
  write_atomically(path_join(checkpoint, "state.json"), "{\"step\": 3, \"data_order\": 2}");
  EXPECT_EQ(rows(), in_order);
}

TEST_F(DataCommand, ImportedDocumentsWithTextEndsInsideAreNamed) {
  output(run_data, {"stats", at("a.yaml"), "--trainer.id", "run"});
  const auto tokenizer = at("runs/run/tokenizer");
  const auto eos = *Tokenizer::load(tokenizer).eos_id();
  std::string ids;
  for (int i = 0; i < 80; ++i) {
    const int id = i % 10 == 9 ? eos : 200 + i % 7;
    ids += {static_cast<char>(id & 0xFF), static_cast<char>(id >> 8)};
  }
  write_atomically(at("ids.bin"), ids);
  write_atomically(at("ids.yaml"),
                   "data: {tokenizer: " + tokenizer + ", cache_dir: " + at("joined") +
                       "}\nmodel: {type: gpt2, seq_len: 32}\ntrainer: {train_batch_size: 2}\n");
  const auto warnings = [&](const Words& more) {
    remove_all(at("joined"));
    Words import = {"import", at("ids.bin"), "--format", "raw-u16", "--to", at("joined/train")};
    import.insert(import.end(), more.begin(), more.end());
    output(run_cache, import);
    testing::internal::CaptureStderr();
    const auto text = output(run_data, {"inspect", at("ids.yaml"), "--rows", "1"});
    EXPECT_THAT(text, HasSubstr(more.empty() ? "1 segment " : "4 segments"));
    return testing::internal::GetCapturedStderr();
  };
  const auto text = warnings({});
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        "data set data: the documents of {} have end-of-text tokens (id {}) inside: "
                        "positions attend from one text to the next\n",
                        at("joined/train"), eos)));
  EXPECT_THAT(text, HasSubstr(fmt::format("hint: import the files again with --eos {}\n", eos)));
  EXPECT_THAT(warnings({"--eos", std::to_string(eos)}), testing::Not(HasSubstr("end-of-text")));
}

TEST_F(DataCommand, StatsOfEachDataSet) {
  const std::string text = output(run_data, {"stats", at("a.yaml")});
  EXPECT_THAT(text, HasSubstr("data set"));
  EXPECT_THAT(text, HasSubstr("48.75 %")) << "39 of 80 documents are there already";
  EXPECT_THAT(output(run_data, {"stats", at("a.yaml"), "--html", at("s.html")}), HasSubstr("written: "));
  EXPECT_THAT(read_text(at("s.html")), HasSubstr("48.75 %"));
}

TEST_F(DataCommand, Refusals) {
  EXPECT_EQ(refused(run_data, {"look", at("a.yaml")}),
            "data: look is not one of inspect, stats\nhint: bora data --help");
  EXPECT_EQ(refused(run_data, {"--rows", "2", "look", at("a.yaml")}),
            "data: look is not one of inspect, stats\nhint: bora data --help");
  EXPECT_EQ(refused(run_data, {"inspcet", at("a.yaml")}),
            "data: inspcet is not one of inspect, stats; did you mean `inspect`?\nhint: bora data --help");
  EXPECT_EQ(
      refused(run_data, {"inspect", at("a.yaml"), "--data.max_epochs", "1", "--step", "1000"}).substr(0, 40),
      "data inspect: there is no step 1000; the");
}

TEST_F(DataCommand, TokenFilesComeInAndGoOut) {
  write_atomically(at("ids.bin"), std::string("\1\0\2\0\0\0\3\0", 8));
  EXPECT_EQ(output(run_cache,
                   {"import", at("ids.bin"), "--format", "raw-u16", "--eos", "0", "--to", at("c/train")}),
            at("c/train") +
                ": 4 tokens · 2 documents · ids up to 3\ntrain on it with data.cache_dir: " + at("c") + "\n");
  EXPECT_EQ(output(run_cache, {"export", at("c/train"), "--format", "megatron", "--to", at("m")}),
            "written: " + at("m.bin") + "\nwritten: " + at("m.idx") + "\n");
  output(run_cache, {"import", at("m.idx"), "--format", "megatron", "--to", at("back")});
  EXPECT_EQ(store::TokenCache::open(at("back"))->tokens(0, 4), (std::vector<std::int32_t>{1, 2, 0, 3}));
  EXPECT_EQ(
      output(run_cache, {"export", at("back"), "--format", "tfrecord", "--seq_len", "1", "--to", at("t")}),
      "written: " + at("t_2.tfrecords") + "\n");
}

TEST_F(DataCommand, WhatAnImportNeeds) {
  EXPECT_EQ(refused(run_cache, {"import"}),
            "cache import: nothing is given to import\nhint: bora cache --help");
  EXPECT_EQ(refused(run_cache, {"import", "x"}), "cache import: --format is needed\nhint: bora cache --help");
  EXPECT_EQ(refused(run_cache, {"import", "x", "--format", "raw-u16"}),
            "cache import: --to is needed\nhint: bora cache --help");
  EXPECT_EQ(refused(run_cache, {"import", "x", "--format", "zarr", "--to", at("c")}),
            "cache: --format zarr is not one of raw-u16, raw-u32, megatron, tfrecord, levanter\n"
            "hint: bora cache --help");
  EXPECT_EQ(refused(run_cache, {"export", "a", "b", "--format", "raw-u16", "--to", at("c")}),
            "cache export: one cache's directory is needed, 2 are given");
  EXPECT_THAT(
      refused(run_cache, {"import", at("none"), "--format", "raw-u16", "--to", at("c")}, ErrorKind::NotFound),
      HasSubstr("none"));
}

}  // namespace
}  // namespace bora::cli
