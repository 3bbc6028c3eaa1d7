// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every recipe trains: a few steps each, on a small text in place of a large one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "bora/base/file.h"
#include "bora/base/key.h"
#include "program.h"

namespace bora::golden {
namespace {

using testing::HasSubstr;

// Words of words: something to make merges and batches of.
std::string some_text() {
  static const std::vector<std::string> kWords = {"the ",   "moon ", "is ",    "a ",     "wind ", "that ",
                                                  "blows ", "over ", "cold\n", "water ", "and ",  "stone. "};
  std::string text;
  const auto key = Key::from_seed(3);
  for (std::uint64_t i = 0; i < 12'000; ++i) text += kWords[key.below(kWords.size(), i)];
  return text;
}

class Recipes : public testing::Test {
 protected:
  Recipes() : folder_(small_project("recipes")) {
    write_atomically(folder_ + "/text.txt", some_text());
    std::filesystem::create_directory_symlink(BORA_SOURCE_DIR "/recipes", folder_ + "/recipes");
  }
  ~Recipes() override { remove_all(folder_); }

  Finished train(const std::string& recipe, std::vector<std::string> more) const {
    more.insert(more.begin(), {"train", "recipes/" + recipe, "--trainer.num_train_steps=3",
                               "--optimizer.warmup=1", "--trainer.id=" + recipe.substr(0, recipe.find('.'))});
    return run(folder_, more);
  }
  Finished train_on_text(const std::string& recipe, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--data.train_urls=[text.txt]", "--data.train_tokenizer.vocab_size=300"});
    return train(recipe, std::move(more));
  }

  std::string folder_;
};

TEST_F(Recipes, Quickstart) {
  const auto done = train_on_text("quickstart.yaml");
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("checkpoint runs/quickstart/step-3"));
}

TEST_F(Recipes, Gpt2Nano) {
  const auto done = train_on_text("gpt2_nano.yaml");
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("gpt2 · "));
}

TEST_F(Recipes, Gpt2Of124MillionParameters) {
  const auto plan = run(folder_, {"train", "recipes/gpt2_124m.yaml", "--dry_run"});
  EXPECT_EQ(plan.code, 0) << plan.output;
  EXPECT_THAT(plan.output, HasSubstr("124 M parameters"));
  const auto done = train_on_text("gpt2_124m.yaml", {"--model.num_layers=1", "--model.seq_len=64"});
  EXPECT_EQ(done.code, 0) << done.output;
}

TEST_F(Recipes, Gemma2Nano) {
  const auto done = train_on_text("gemma2_nano.yaml");
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("gemma2 · "));
}

// One of each family near Llama, and with experts.
TEST_F(Recipes, NanoModels) {
  for (const std::string type : {"mistral", "qwen2", "qwen3", "olmo2", "smollm3", "granite", "phi3",
                                 "mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss"}) {
    const auto done = train_on_text(type + "_nano.yaml");
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr(type + " · "));
  }
}

// The others need what the first has exported.
TEST_F(Recipes, LlamaNanoChatsAndAdapters) {
  const auto base = train_on_text("llama_nano.yaml", {"--trainer.id=base"});
  EXPECT_EQ(base.code, 0) << base.output;
  const auto done = train("chat_sft.yaml", {});
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_TRUE(exists(folder_ + "/runs/chat_sft/hf/chat_template.jinja")) << done.output;
  // The sizes are those of the model that it starts from, wherever the recipe is read.
  EXPECT_THAT(run(folder_, {"data", "inspect", "recipes/chat_sft.yaml"}).output,
              HasSubstr("4 sequences of 128 tokens"));

  const auto adapted = train("lora_nano.yaml", {"--data.train_urls=[text.txt]"});
  EXPECT_EQ(adapted.code, 0) << adapted.output;
  EXPECT_THAT(adapted.output, HasSubstr("14,336 of "));
  EXPECT_TRUE(exists(folder_ + "/runs/lora_nano/adapter/adapter_model.safetensors")) << adapted.output;
  const auto text = run(folder_, {"generate", "runs/base/hf", "the moon", "--adapter",
                                  "runs/lora_nano/adapter", "--max_new_tokens", "4"});
  EXPECT_EQ(text.code, 0) << text.output;
}

TEST_F(Recipes, OtherFamilies) {
  for (const std::string type : {"gemma", "gemma3", "gpt_neox", "gptj", "mpt", "olmo3", "backpack"}) {
    const auto done = train_on_text(type + "_nano.yaml");
    EXPECT_EQ(done.code, 0) << done.output;
    EXPECT_THAT(done.output, HasSubstr(type + " · "));
  }
  // The model has as many senses as its recipe says, and each predicts something.
  const auto senses = run(folder_, {"senses", "runs/backpack_nano", "moon", "wind", "--top", "2"});
  EXPECT_EQ(senses.code, 0) << senses.output;
  EXPECT_THAT(senses.output,
              testing::ContainsRegex("^\" moon\" \\(id [0-9]+\\)\n    0   \".*\" -?[0-9.]+  \".*\n    1 "));
  EXPECT_THAT(senses.output,
              testing::AllOf(HasSubstr("\n    7   \""), testing::Not(HasSubstr("\n    8   \""))));
}

TEST_F(Recipes, WhisperNano) {
  const auto made = BORA_SOURCE_DIR "/scripts/made_up_speech.sh " + folder_ + "/made_up_speech 24 4";
  ASSERT_EQ(std::system(made.c_str()), 0);
  const auto done = train("whisper_nano.yaml", {});
  EXPECT_EQ(done.code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("whisper · "));
}

}  // namespace
}  // namespace bora::golden
