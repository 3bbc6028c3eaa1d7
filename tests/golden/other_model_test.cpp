// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Weights beside a configuration that is not theirs: of another type, another function, another tokenizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kTrain = {"train", "config.yaml", "--trainer.id=of",
                                         "--trainer.num_train_steps=2"};

std::string llama_project(const std::string& name) {
  const auto folder = small_project(name), file = folder + "/config.yaml";
  auto text = read_text(file);
  const auto first = text.find("model:\n"), last = text.find("trainer:\n");
  write_atomically(file,
                   text.replace(first, last - first,
                                "model: {type: llama, seq_len: 32, hidden_dim: 32, intermediate_dim: 48, "
                                "num_layers: 2, num_heads: 4, num_kv_heads: 4}\n"));
  return folder;
}

TEST(OtherModel, AnotherTypeWithTheSameArraysIsRefused) {
  const auto folder = llama_project("other_type");
  ASSERT_EQ(run(folder, kTrain).code, 0);
  const std::vector<std::string> granite = {"--model.type=granite", "--trainer.num_train_steps=4"};
  const auto resumed = run(folder, with(kTrain, granite));
  EXPECT_EQ(resumed.code, 2) << resumed.output;
  EXPECT_THAT(
      resumed.output,
      AllOf(HasSubstr("--model.type  runs/of/step-2: it holds a llama and the model here is a granite"),
            HasSubstr("put the type back, or start another run (trainer.id) or over (--fresh)")));
  const auto begun =
      run(folder, with(with(kTrain, granite), {"--trainer.id=new", "--trainer.initialize_from=runs/of"}));
  EXPECT_EQ(begun.code, 2) << begun.output;
  EXPECT_THAT(
      begun.output,
      AllOf(HasSubstr("--trainer.initialize_from  is runs/of, of another model: it holds a llama and the "
                      "model here is a granite"),
            HasSubstr("give the model block that it was saved with (runs/of/config.yaml has it)")));
  EXPECT_FALSE(exists(folder + "/runs/new"));
}

TEST(OtherModel, AnotherFunctionOfTheSameArraysIsTold) {
  const auto folder = llama_project("other_function");
  ASSERT_EQ(run(folder, with(kTrain, {"--hf_export=true"})).code, 0);
  const std::vector<std::string> other = {"--trainer.id=new", "--model.rope.theta=500",
                                          "--model.attention_dropout=0.1", "--dry_run"};
  for (const auto& [from, word] : {std::pair("--trainer.initialize_from=runs/of", "trainer.initialize_from"),
                                   {"--initialize_from_hf=runs/of/hf", "initialize_from_hf"}}) {
    const auto told = run(folder, with(with(kTrain, other), {from}));
    EXPECT_EQ(told.code, 0) << told.output;
    EXPECT_THAT(told.output,
                AllOf(HasSubstr("model: not quite that of runs/of"),
                      HasSubstr(std::string("(") + word + "): rope_theta is 500 here and 10000 there\n")));
    const auto same = run(folder, with(with(kTrain, {"--trainer.id=new", "--dry_run"}), {from}));
    EXPECT_EQ(same.code, 0) << same.output;
    EXPECT_THAT(same.output, Not(HasSubstr("not quite")));
  }
}

// The tokens of the model's tokenizer do not go among those of the configuration's.
TEST(OtherModel, EvaluationKeepsTokensByTheTokenizerThatCounts) {
  const auto folder = llama_project("other_tokenizer");
  ASSERT_EQ(run(folder, kTrain).code, 0);
  const std::vector<std::string> larger = {"--data.train_tokenizer.vocab_size=290", "--data.cache_dir=tokens",
                                           "--trainer.id=larger"};
  const auto told =
      run(folder, with(with({"eval", "--model", "runs/of", "config.yaml"}, larger), {"--model.seq_len=16"}));
  EXPECT_EQ(told.code, 0) << told.output;
  EXPECT_THAT(told.output,
              AllOf(HasSubstr("pieces, of the model; the configuration's "),
                    HasSubstr(" does not count, and tokens are kept in cache/"),
                    HasSubstr("of 32 tokens, the model's; the configuration's model.seq_len is 16")));
  EXPECT_FALSE(exists(folder + "/tokens"));
  auto train = with(kTrain, larger);
  EXPECT_EQ(run(folder, train).code, 0) << "its tokens are its own";
  EXPECT_TRUE(exists(folder + "/tokens"));
  const auto own = run(folder, with({"eval", "config.yaml"}, larger));
  EXPECT_EQ(own.code, 0) << own.output;
  EXPECT_THAT(own.output, Not(HasSubstr("does not count")));
}

TEST(OtherModel, ATokenizerWithMoreIdsThanTheModelHasEmbeddings) {
  const auto folder = llama_project("other_vocabulary");
  ASSERT_EQ(run(folder, kTrain).code, 0);
  ASSERT_EQ(run(folder, {"train-tokenizer", "one.txt", "--vocab_size", "320", "--out", "large"}).code, 0);
  files().make_directories(folder + "/bare");  // empty, and so in nobody's way
  ASSERT_EQ(run(folder, {"export", "runs/of", "bare"}).code, 0);
  for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
    if (exists(folder + "/bare/" + file)) files().remove(folder + "/bare/" + file);
  const auto told = run(folder, {"eval", "--model", "bare", "config.yaml", "--data.train_tokenizer=null",
                                 "--data.tokenizer=large", "--data.cache_dir=tokens"});
  EXPECT_EQ(told.code, 2) << told.output;
  EXPECT_THAT(told.output,
              AllOf(HasSubstr("data.tokenizer: large has 301 ids, and bare has embeddings of 300"),
                    HasSubstr("hint: the model's own tokenizer, beside its weights or as data.tokenizer")));
}

}  // namespace
}  // namespace bora::golden
