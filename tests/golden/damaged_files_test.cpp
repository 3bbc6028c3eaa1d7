// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Models, ids and checkpoints that are missing, cut or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/base/text.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void expect_told(const Finished& done, int code, const std::string& words) {
  EXPECT_EQ(done.code, code) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("bora: "), HasSubstr(words), Not(HasSubstr("internal error"))));
}

// A trained model of 32 positions and 300 ids, exported to `good`; each test spoils a copy.
class DamagedFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = small_project("damaged_files");
    auto trained = run(folder_, {"train", "config.yaml", "--trainer.threads=1", "--trainer.stop_at_step=3"});
    auto exported = run(folder_, {"export", "runs/run", "good"});
    ready_ = trained.code == 75 && exported.code == 0;
  }
  void SetUp() override {
    ASSERT_TRUE(ready_);
    copy(folder_ + "/good", folder_ + "/bad");
  }
  static void copy(const std::string& from, const std::string& to) {
    remove_all(to);
    files().make_directories(to);
    for (const auto& name : files().list(from)) {
      if (files().info(path_join(from, name))->is_directory)
        copy(path_join(from, name), path_join(to, name));
      else
        write_atomically(path_join(to, name), read_text(path_join(from, name)));
    }
  }
  static std::string bad(const std::string& name) { return folder_ + "/bad/" + name; }
  static Finished import() {
    auto done = run(folder_, {"import", "bad", "runs/imported"});
    EXPECT_FALSE(exists(folder_ + "/runs/imported/step-0"));
    return done;
  }
  static Finished forward(const std::string& ids) {
    write_atomically(folder_ + "/ids.json", ids);
    auto done =
        run(folder_, {"forward", "--model", "good", "--ids", "ids.json", "--out", "forward.safetensors"});
    EXPECT_FALSE(exists(folder_ + "/forward.safetensors"));
    return done;
  }
  static Finished train_more(int stop) {
    return run(folder_, {"train", "config.yaml", "--trainer.threads=1",
                         "--trainer.stop_at_step=" + std::to_string(stop),
                         "--trainer.checkpointer.base_path=spoiled"});
  }

  static inline std::string folder_;
  static inline bool ready_ = false;
};

TEST_F(DamagedFiles, TruncatedWeights) {
  auto weights = read_text(bad("model.safetensors"));
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{5}, std::size_t{100}, weights.size() / 2, weights.size() - 1}) {
    write_atomically(bad("model.safetensors"), weights.substr(0, bytes));
    expect_told(import(), 3, "bad/model.safetensors: safetensors: ");
  }
  expect_told(run(folder_, {"generate", "bad", "the moon"}), 3, "tensors end at byte");
}

TEST_F(DamagedFiles, MissingAndEmptyParts) {
  files().remove(bad("model.safetensors"));
  expect_told(import(), 3, "bad: holds neither model.safetensors nor model.safetensors.index.json");
  write_atomically(bad("config.json"), "");
  expect_told(import(), 3, "bad/config.json: line 1, column 1: malformed JSON");
  files().remove(bad("config.json"));
  expect_told(import(), 3, "bad has no config.json");
  expect_told(run(folder_, {"import", "nowhere", "runs/imported"}), 3, "nowhere");
}

TEST_F(DamagedFiles, NumbersOfAModelThatIsNone) {
  auto config = Json::parse(read_text(bad("config.json")));
  config["n_head"] = 0;
  config["resid_pdrop"] = -1;
  write_atomically(bad("config.json"), config.dump());
  for (const auto& done : {import(), run(folder_, {"generate", "bad", "the moon"})}) {
    expect_told(done, 3, "bad/config.json has 2 problems; nothing was started.");
    EXPECT_THAT(done.output, HasSubstr("n_head = 0        must be from 1 to 2147483647"));
    EXPECT_THAT(done.output, HasSubstr("resid_pdrop = -1  must be at least 0 and below 1"));
  }
}

TEST_F(DamagedFiles, TokenizerCutShort) {
  write_atomically(bad("tokenizer.json"), read_text(bad("tokenizer.json")).substr(0, 200));
  expect_told(run(folder_, {"tokenize", "--tokenizer", "bad", "encode"}), 3, "bad/tokenizer.json: not JSON");
  expect_told(run(folder_, {"generate", "bad", "the moon"}), 3, "bad/tokenizer.json: not JSON");
  expect_told(run(folder_, {"tokenize", "--tokenizer", "nowhere", "encode"}), 3, "nowhere: cannot open");
}

// Not damaged: embedding and head follow the tokenizer, and the run says so.
TEST_F(DamagedFiles, TokenizerOfAnotherModel) {
  for (const auto& [size, told] :
       {std::pair("301", "300 embeddings, the tokenizer 301 ids: new rows are the mean of the stored ones"),
        std::pair("299",
                  "300 embeddings, the tokenizer 299 ids: rows beyond the tokenizer's are left out")}) {
    const std::string other = fmt::format("of-{}", size);
    ASSERT_EQ(
        run(folder_, {"train-tokenizer", "one.txt", "two.txt", "--vocab_size", size, "--out", other}).code,
        0);
    const auto done = run(folder_, {"train", "config.yaml", "--trainer.id=" + other,
                                    "--initialize_from_hf=good", "--data.train_tokenizer=null",
                                    "--data.tokenizer=" + other, "--data.cache_dir=cache-" + other});
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr(told));
  }
}

TEST_F(DamagedFiles, SequencesLongerThanTheModel) {
  std::string row;
  for (int i = 0; i < 33; ++i) row += (i > 0 ? "," : "") + std::to_string(i);
  expect_told(forward("[[" + row + "]]"), 1, "33 positions but the model's seq_len is 32");
  std::string prompt;
  for (int i = 0; i < 40; ++i) prompt += "the moon ";
  auto generated = run(folder_, {"generate", "good", prompt});
  expect_told(generated, 1, "tokens but the model's seq_len is 32");
  EXPECT_THAT(generated.output, Not(HasSubstr("the moon"))) << "nothing is shown of what was refused";
  auto trained = run(folder_, {"train", "config.yaml", "--trainer.id=longer", "--initialize_from_hf=good",
                               "--model.seq_len=64"});
  expect_told(trained, 2,
              "the model block is not the model of good/config.json: "
              "seq_len: 64 in the model block, 32 in config.json; "
              "use_hf_model_config: true takes all of it from there");
}

TEST_F(DamagedFiles, WhatIsWholeIsShown) {
  auto generated = run(folder_, {"generate", "good", "the moon", "--max_new_tokens", "4"});
  EXPECT_EQ(generated.code, 0) << generated.output;
  EXPECT_THAT(generated.output, StartsWith("the moon")) << "the text first, though both streams are one file";
  EXPECT_THAT(generated.output, ContainsRegex("\nbora: [0-9] tokens, [0-9.]+ tokens/s\n$"));
  const auto shown = run(folder_, {"inspect", "runs/run/step-3"}).output;
  EXPECT_THAT(shown, HasSubstr(" · 2 lanes · "));
  for (const char* prefix : {"  h.0.attn.c_attn.weight ", "  mu/h.0.attn.c_attn.weight "})
    EXPECT_THAT(shown, ContainsRegex(std::string(prefix) +
                                     " *F32 +[[]qkv=3, heads=[0-9]+, head_dim=[0-9]+, embed=32[]]"));
  EXPECT_THAT(run(folder_, {"inspect", "good"}).output,
              ContainsRegex("h.0.attn.c_attn.weight +F32 +[[]32, 96[]]"))
      << "a file of another layout has no axes";
  run(folder_,
      {"train", "config.yaml", "--trainer.id=single", "--trainer.lanes=1", "--trainer.stop_at_step=1"});
  EXPECT_THAT(run(folder_, {"inspect", "runs/single/step-1"}).output, HasSubstr(" · 1 lane · "));
}

TEST_F(DamagedFiles, IdsThatAreNone) {
  expect_told(forward(""), 3, "ids.json: line 1, column 1: malformed JSON");
  expect_told(forward("[[1, 2], [3]]"), 3, "row 1 has 1 ids but row 0 has 2");
  expect_told(forward("[[1, \"moon\"]]"), 3, "ids.json: \"moon\" is not a token id");
  expect_told(forward("[[1, 99999999999]]"), 3, "ids.json: 99999999999 is not a token id");
  expect_told(forward("[[1, 300]]"), 1, "id 300 at place 1 is outside the vocabulary of 300");
  expect_told(forward("[[]]"), 1, "0 positions a row, but a loss needs two at least");
  expect_told(forward("[[7]]"), 1, "1 position a row, but a loss needs two at least");
  expect_told(run(folder_, {"forward", "--model", "good", "--ids", "good/model.safetensors", "--out", "x"}),
              3, "input_ids");
}

TEST_F(DamagedFiles, NewestCheckpointsSpoiledInManyWays) {
  const std::vector<std::pair<std::string, std::string>> spoiled = {{"manifest.json", ""},
                                                                    {"state.json", "{}"}};
  for (const auto& [name, content] : spoiled) {
    copy(folder_ + "/runs/run", folder_ + "/spoiled/run");
    write_atomically(folder_ + "/spoiled/run/step-3/" + name, content);
    auto done = train_more(4);
    EXPECT_EQ(done.code, 75) << done.output;
    EXPECT_THAT(done.output, AllOf(HasSubstr(name), HasSubstr("resuming from step-2 instead"),
                                   HasSubstr("step-3.damaged"), HasSubstr("at step 2 of 40")));
    EXPECT_TRUE(exists(folder_ + "/spoiled/run/step-3.damaged/" + name));
    EXPECT_TRUE(exists(folder_ + "/spoiled/run/step-4/manifest.json"));
  }
}

TEST_F(DamagedFiles, NoCheckpointIsWhole) {
  copy(folder_ + "/runs/run", folder_ + "/spoiled/run");
  for (const char* step : {"step-1", "step-2", "step-3"})
    write_atomically(folder_ + "/spoiled/run/" + step + "/state.json", "spoiled");
  expect_told(run(folder_, {"generate", "spoiled/run/step-2", "the moon"}), 3, "state.json");
  expect_told(run(folder_, {"inspect", "spoiled/run/step-2"}), 3, "state.json");
  auto done = train_more(4);
  expect_told(done, 2, "no valid checkpoint is left; the oldest: step-1: state.json");
  EXPECT_THAT(done.output, HasSubstr("nothing was changed; start over with --fresh"));
  auto again = train_more(4);
  expect_told(again, 2, "no valid checkpoint is left; the oldest: step-1: state.json");
}

}  // namespace
}  // namespace bora::golden
