// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Generation with cached keys and values: the same tokens as Hugging Face and llama2.c, and as without a
// cache.
#include <gtest/gtest.h>

#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/core/create.h"
#include "bora/infer/generate.h"
#include "bora/run/models.h"
#include "model_folders.h"

namespace bora::run {
namespace {

using Ids = std::vector<std::int32_t>;

Ids greedy(const nn::LanguageModel& model, const Ids& prompt, std::int64_t new_tokens) {
  infer::GenerateOptions options{.max_new_tokens = new_tokens, .sampling = {.temperature = 0}};
  return infer::generate(model, prompt, options);
}

class Continuation : public ModelFolderTest {};

TEST_P(Continuation, OfAPromptIsThatOfHuggingFace) {
  auto model = load_model(folder());
  auto path = folder() + "/generation.json";
  auto prompts = parse_json(read_text(path), path)["prompts"];
  EXPECT_EQ(prompts.size(), 2U);
  for (const auto& p : prompts) {
    auto expected = p["new_ids"].get<Ids>();
    EXPECT_GT(expected.size(), 20U);
    EXPECT_EQ(greedy(*model, p["prompt_ids"].get<Ids>(), std::ssize(expected)), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Continuation, testing::ValuesIn(model_folders()), model_name);

// What was trained on stories tells them: many more tokens, and their text.
class Stories : public testing::Test {
 protected:
  static constexpr const char* kDirectory = BORA_SHARED_DIR "/data/models/stories260k";

  void SetUp() override {
    if (!exists(kDirectory)) GTEST_SKIP() << "no trained model at " << kDirectory;
    model_ = load_model(kDirectory);
    auto path = std::string(kDirectory) + "/reference.json";
    reference_ = parse_json(read_text(path), path);
    expected_ = reference_["greedy_from_bos_256_ids"].get<Ids>();
    ASSERT_EQ(expected_.size(), 256U);
  }

  std::unique_ptr<nn::LanguageModel> model_;
  Json reference_;
  Ids expected_;
};

Ids joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Stories, GreedyFromTheBeginningOfATextGivesTheReferenceIds) {
  Ids prompt = {expected_[0]};
  EXPECT_EQ(joined(prompt, greedy(*model_, prompt, 255)), expected_);
}

TEST_F(Stories, AnyPrefixOfThemIsContinuedInTheSameWay) {
  for (std::size_t length : {2U, 17U, 128U, 255U}) {
    Ids prompt(expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(length));
    auto rest = static_cast<std::int64_t>(expected_.size() - length);
    EXPECT_EQ(joined(prompt, greedy(*model_, prompt, rest)), expected_)
        << "prompt of " << length << " tokens";
  }
}

TEST_F(Stories, OnePassWithoutACachePredictsEachOfThem) {
  Ids inputs(expected_.begin(), expected_.end() - 1);
  constexpr std::array<std::string_view, 2> kAxes{"batch", "position"};
  std::array<std::int64_t, 2> sizes{1, std::ssize(inputs)};
  auto ids = core::from_data({kAxes, sizes}, std::span<const std::int32_t>(inputs));
  auto logits = model_->logits(ids, {}).to_vector<float>();
  auto vocab = static_cast<std::size_t>(model_->shape().vocab);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto row = std::span<const float>(logits).subspan(i * vocab, vocab);
    EXPECT_EQ(infer::most_probable(row), expected_[i + 1]) << "after token " << i;
  }
}

TEST_F(Stories, TheirTextIsTheReferenceText) {
  auto tokenizer = Tokenizer::load(kDirectory);
  EXPECT_EQ(tokenizer.decode({expected_.begin() + 1, expected_.end()}),
            reference_["greedy_from_bos_256_text"].get<std::string>());
}

}  // namespace
}  // namespace bora::run
