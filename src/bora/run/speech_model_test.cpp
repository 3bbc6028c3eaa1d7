// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/speech_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/models/gpt2.h"
#include "bora/nn/language_model.h"

namespace bora::run {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

infer::SpeechTokens tokens(const Json& generation) {
  return speech_tokens(generation, std::nullopt, 100, "model");
}

std::string refusal(ErrorKind kind, const auto& use) {
  try {
    use();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(SpeechTokensOfFiles, AreWhisperKeys) {
  const auto t = tokens({{"bos_token_id", 50},
                         {"eos_token_id", {50, 51}},
                         {"decoder_start_token_id", 52},
                         {"no_timestamps_token_id", 60},
                         {"suppress_tokens", {-1, 3, 4}},
                         {"begin_suppress_tokens", {5, 50}},
                         {"max_initial_timestamp_index", 7},
                         {"lang_to_id", {{"<|en|>", 53}, {"<|de|>", 54}}},
                         {"task_to_id", {{"transcribe", 55}}}});
  EXPECT_EQ(t.start, 52);
  EXPECT_EQ(t.end, 50);
  EXPECT_EQ(t.first_timestamp(), 61);
  EXPECT_THAT(t.suppress, ElementsAre(3, 4));
  EXPECT_THAT(t.begin_suppress, ElementsAre(5, 50));
  EXPECT_EQ(t.max_initial_timestamp, 7);
  EXPECT_EQ(t.languages, (std::map<std::string, std::int32_t>{{"en", 53}, {"de", 54}}));
  EXPECT_EQ(t.tasks.at("transcribe"), 55);
}

TEST(SpeechTokensOfFiles, MayBeFew) {
  const auto t = tokens({{"eos_token_id", 9}, {"suppress_tokens", nullptr}});
  EXPECT_EQ(t.start, 9) << "a text begins with what ends it";
  EXPECT_FALSE(t.no_timestamps);
  EXPECT_TRUE(t.languages.empty());
  EXPECT_EQ(tokens({{"bos_token_id", 8}, {"eos_token_id", 9}}).start, 8);
}

TEST(SpeechTokensOfFiles, SayWhatIsWrong) {
  const auto wrong = [](const Json& generation) {
    return refusal(ErrorKind::Corruption, [&] { tokens(generation); });
  };
  EXPECT_THAT(wrong({{"eos_token_id", 100}}),
              HasSubstr("model/generation_config.json: eos_token_id should be ids below 100, the size of the "
                        "vocabulary but is 100\nhint: "));
  EXPECT_THAT(wrong({{"eos_token_id", 1}, {"suppress_tokens", 3}}),
              HasSubstr("suppress_tokens should be a list of ids but is 3"));
  EXPECT_THAT(wrong({{"eos_token_id", 1}, {"lang_to_id", {3}}}),
              HasSubstr("lang_to_id should be an object of names and ids but is [3]"));
  EXPECT_THAT(wrong({{"eos_token_id", 1}, {"max_initial_timestamp_index", -1}}),
              HasSubstr("max_initial_timestamp_index should be a whole number from 0 on but is -1"));
  EXPECT_THAT(refusal(ErrorKind::NotFound, [] { tokens(Json::object()); }),
              HasSubstr("model: nothing says with which token a text ends\nhint: eos_token_id in"));
}

TEST(SpeechFeatures, AreThoseOfTheModel) {
  nn::ModelShape shape{};
  shape.mel_bins = 40;
  shape.frames = 200;
  const auto c = features_of(shape, "/nowhere");
  EXPECT_EQ(c.feature_size, 40);
  EXPECT_EQ(c.frames(), 200);
  const auto folder = testing::TempDir() + "bora_speech_features";
  remove_all(folder);
  files().make_directories(folder);
  auto json = preprocessor_config(shape);
  write_atomically(folder + "/preprocessor_config.json", json.dump());
  EXPECT_EQ(features_of(shape, folder).frames(), 200);
  json["feature_size"] = 80;
  write_atomically(folder + "/preprocessor_config.json", json.dump());
  EXPECT_THAT(
      refusal(ErrorKind::Corruption, [&] { features_of(shape, folder); }),
      AllOf(HasSubstr("preprocessor_config.json: features of 80 mel bins (feature_size), but the model "
                      "beside it hears 40\nhint: ")));
  remove_all(folder);
}

TEST(SpeechModels, AreNotThoseOfText) {
  auto model = nn::erase_type(gpt2::Gpt2::init(
      {.seq_len = 4, .hidden_dim = 8, .num_layers = 1, .num_heads = 1}, Dim<gpt2::Vocab>{8}, Key{}));
  EXPECT_THAT(
      refusal(ErrorKind::Unsupported, [&] { (void)require_speech(*model, "runs/x"); }),
      HasSubstr("runs/x: a model of type gpt2 reads text and hears nothing; Bora has whisper for speech"));
}

}  // namespace
}  // namespace bora::run
