// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/generation_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora::run {
namespace {

class SamplingDefaults : public testing::Test {
 protected:
  std::string take(const std::string& generation, const std::set<std::string>& given = {}) {
    return take_sampling_defaults(Json::parse(generation), "M/generation_config.json", given, options_);
  }
  std::string refusal(const std::string& generation) {
    try {
      take(generation);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
    return "no error";
  }
  infer::SamplingOptions options_;
};

TEST_F(SamplingDefaults, AreThoseOfAFileThatSamples) {
  EXPECT_EQ(take("{}"), "");
  EXPECT_EQ(
      take(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.1,
                     "repetition_penalty": 1.05})"),
      "temperature 0.6, top_k 20, top_p 0.95, min_p 0.1, repetition_penalty 1.05 of M/generation_config.json");
  EXPECT_EQ(options_.temperature, 0.6);
  EXPECT_EQ(options_.top_k, 20);
  EXPECT_EQ(options_.top_p, 0.95);
  EXPECT_EQ(options_.min_p, 0.1);
  EXPECT_EQ(options_.repetition_penalty, 1.05);
}

TEST_F(SamplingDefaults, OfAFileThatDoesNotSampleAreThePenaltyAlone) {
  for (const std::string sample : {"false", "null"}) {
    options_ = {};
    EXPECT_EQ(take(R"({"do_sample": )" + sample +
                   R"(, "temperature": 0.6, "top_k": 5, "repetition_penalty": 1.5})"),
              "repetition_penalty 1.5 of M/generation_config.json");
    EXPECT_EQ(options_.temperature, 1);
    EXPECT_EQ(options_.top_k, 0);
  }
}

TEST_F(SamplingDefaults, GiveWayToFlags) {
  const std::string file = R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.9})";
  options_.top_k = 3;
  EXPECT_EQ(take(file, {"--top_k", "--seed"}), "temperature 0.6, top_p 0.9 of M/generation_config.json");
  EXPECT_EQ(options_.top_k, 3);
  options_ = {.temperature = 0};
  EXPECT_EQ(take(file, {"--temperature"}), "") << "nothing is drawn";
  EXPECT_EQ(take(R"({"do_sample": true, "top_p": 2})", {"--top_p"}), "");
}

TEST_F(SamplingDefaults, SayWhatIsWrong) {
  EXPECT_EQ(
      refusal(R"({"do_sample": true, "temperature": -1})"),
      "M/generation_config.json: temperature is -1; it must be at least 0\nhint: --temperature takes its place");
  EXPECT_EQ(
      refusal(R"({"do_sample": true, "top_p": 0})"),
      "M/generation_config.json: top_p is 0; it must be above 0 and at most 1\nhint: --top_p takes its place");
  EXPECT_EQ(
      refusal(R"({"do_sample": "yes"})"),
      "M/generation_config.json: do_sample is \"yes\"; it must be true or false\nhint: take the file that belongs "
      "to the model, or leave the key out");
  EXPECT_EQ(refusal(R"({"temperature": -1})"), "no error") << "it is not used";
}

TEST(UnusedSettings, AreNamed) {
  const auto of = [](const std::string& generation, Decoding decoding) {
    return unused_settings(Json::parse(generation), "M", decoding);
  };
  using enum Decoding;
  EXPECT_EQ(of(R"({"no_repeat_ngram_size": 2, "top_p": 0.9})", Greedy),
            "M: no_repeat_ngram_size = 2 is not used here");
  EXPECT_EQ(of(R"({"num_beams": 4, "bad_words_ids": [[1]], "forced_eos_token_id": 0})", Greedy),
            "M: bad_words_ids = [[1]], forced_eos_token_id = 0, num_beams = 4 are not used here");
  EXPECT_EQ(of(R"({"typical_p": 0.5})", Sampled), "M: typical_p = 0.5 is not used here");
  EXPECT_EQ(of(R"({"typical_p": 0.5})", Greedy), "");
  EXPECT_EQ(of(R"({"suppress_tokens": [100, 101, 102, 103, 104, 105, 106, 107, 108]})", Sampled),
            "M: suppress_tokens = [100,101,102,103,104,105,106,107,108] is not used here");
  EXPECT_EQ(of(R"({"suppress_tokens": [100, 101, 102, 103, 104, 105, 106, 107, 108, 109]})", Sampled),
            "M: suppress_tokens = [100,101,102,103,104,105,106,107,108,109... is not used here");
  const std::string speech =
      R"({"suppress_tokens": [1], "num_beams": 4, "repetition_penalty": 1.5, "language": "de"})";
  EXPECT_EQ(of(speech, Speech), "M: repetition_penalty = 1.5, language = \"de\" are not used here");
  EXPECT_EQ(of(R"({"language": "de", "lang_to_id": {"<|de|>": 1}})", Speech), "");
}

TEST(UnusedSettings, ThatChangeNothingAreNot) {
  EXPECT_EQ(unused_settings(Json::parse(R"({"no_repeat_ngram_size": 0, "num_beams": 1, "typical_p": 1.0,
                "bad_words_ids": null, "suppress_tokens": [], "min_length": 0, "early_stopping": false,
                "max_length": 20, "guidance_scale": 1, "sequence_bias": {}})"),
                            "M", Decoding::Sampled),
            "");
}

}  // namespace
}  // namespace bora::run
