// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Tokens of greedy and beam search, with timestamps and without, equal those of transformers' generate for the tiny
// reference model of speech. speech/decoding.json holds what transformers 4.57.6 gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/core/create.h"
#include "bora/infer/speech_decoder.h"
#include "bora/run/speech_model.h"

namespace bora::run {
namespace {

const std::string kWhisper = BORA_SHARED_DIR "/data/models/whisper";
const std::string kCases = BORA_SOURCE_DIR "/tests/parity/speech/decoding.json";

class SpeechDecoding : public testing::Test {
 protected:
  void SetUp() override {
    if (!exists(kWhisper)) GTEST_SKIP() << "no further reference model at " << kWhisper;
    const checkpoint::SafetensorsFile reference(kWhisper + "/reference.safetensors");
    model_ = load_speech(kWhisper);
    const auto all = reference.floats("input_features");
    for (std::size_t row = 0; row < 2; ++row) {
      const std::array<std::string_view, 3> names{"batch", "mel", "frame"};
      const std::array<std::int64_t, 3> sizes{1, 80, 200};
      const auto one = std::span(all).subspan(row * 16000, 16000);
      heard_.push_back(model_->hear(model_->encode(core::from_data({names, sizes}, one), {})));
    }
    cases_ = parse_json(read_text(kCases), kCases);
  }
  static infer::SpeechTokens tokens() {
    infer::SpeechTokens out{.start = 101, .end = 100, .no_timestamps = 110};
    out.begin_suppress = {5, 100};
    out.languages = {{"en", 102}, {"de", 103}, {"fr", 104}, {"es", 105}};
    return out;
  }

  std::unique_ptr<nn::SpeechModel> model_;
  std::vector<nn::HeardSpeech> heard_;
  Json cases_;
};

TEST_F(SpeechDecoding, TokensAreThoseOfTransformers) {
  int compared = 0;
  for (const auto& c : cases_["cases"]) {
    auto words = tokens();
    words.end = c["end"];
    words.suppress = c["suppress_tokens"].get<std::vector<std::int32_t>>();
    if (!c["max_initial"].is_null()) words.max_initial_timestamp = c["max_initial"].get<std::int64_t>();
    const infer::SpeechOptions options{
        .timestamps = c["timestamps"], .beams = c["beams"], .length_penalty = c["length_penalty"]};
    std::vector<std::int32_t> prompt{101, words.languages.at(c["language"]), 107};
    if (!options.timestamps) prompt.push_back(110);
    const auto ids =
        infer::decode_speech(*model_, heard_.at(c["row"].get<std::size_t>()), words, prompt, options);
    EXPECT_EQ(ids, c["ids"].get<std::vector<std::int32_t>>()) << c.dump();
    ++compared;
  }
  EXPECT_GE(compared, 40);
}

TEST_F(SpeechDecoding, LanguagesAreThoseOfTransformers) {
  for (std::size_t row = 0; row < 2; ++row) {
    const auto language = infer::detect_language(*model_, heard_[row], tokens());
    EXPECT_EQ(tokens().languages.at(language), cases_["languages"][row].get<std::int32_t>());
  }
}

TEST_F(SpeechDecoding, RefusesWhatCannotBeDecoded) {
  const auto refusal = [&](const std::vector<std::int32_t>& prompt, const infer::SpeechTokens& words,
                           const infer::SpeechOptions& options) -> std::string {
    try {
      infer::decode_speech(*model_, heard_[0], words, prompt, options);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal({}, tokens(), {}), HasSubstr("speech: the prompt is empty"));
  EXPECT_THAT(refusal({144}, tokens(), {}), HasSubstr("speech: id 144 is outside the vocabulary of 144"));
  EXPECT_THAT(refusal(std::vector<std::int32_t>(32, 1), tokens(), {}),
              HasSubstr("speech: the prompt has 32 tokens but the decoder 32 positions"));
  EXPECT_THAT(refusal({101}, {.start = 101}, {.timestamps = true}),
              HasSubstr("speech: the model has no timestamps (no_timestamps_token_id)"));
  for (auto& p : model_->parameters())
    if (p.path == "decoder.layer_norm.bias")
      p.array->data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal({101}, tokens(), {}),
              HasSubstr("speech: after 1 tokens the model's logits are not finite: that of id 0 is nan"));
}

}  // namespace
}  // namespace bora::run
