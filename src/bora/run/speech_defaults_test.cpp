// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/speech_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bora/base/error.h"
#include "bora/models/whisper.h"

namespace bora::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer words() {
  Json vocab = Json::object();
  for (int i = 0; i < 40; ++i) vocab["w" + std::to_string(i)] = i;
  const Json json{{"version", "1.0"},
                  {"added_tokens", Json::array()},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", nullptr},
                  {"post_processor", nullptr},
                  {"decoder", nullptr},
                  {"model", {{"type", "WordLevel"}, {"unk_token", "w0"}, {"vocab", vocab}}}};
  return Tokenizer::from_json(json.dump(), "{}");
}

class SpeechDefaults : public testing::Test {
 protected:
  SpeechDefaults() {
    whisper::Config small;
    small.num_mel_bins = 4;
    small.d_model = 8;
    small.encoder_layers = small.decoder_layers = 1;
    small.encoder_attention_heads = small.decoder_attention_heads = 2;
    small.encoder_ffn_dim = small.decoder_ffn_dim = 16;
    small.max_source_positions = 50;
    small.seq_len = 12;
    small.initializer_range = 2;
    opened_.model =
        whisper::erase_type(whisper::Whisper::init(small, Dim<whisper::Vocab>{40}, Key::from_seed(3)));
    opened_.tokenizer = words();
    opened_.directory = "M";
    opened_.generation_file = "M/generation_config.json";
    opened_.generation = {{"eos_token_id", 1},
                          {"decoder_start_token_id", 2},
                          {"no_timestamps_token_id", 20},
                          {"lang_to_id", {{"<|en|>", 3}, {"<|de|>", 4}}},
                          {"task_to_id", {{"transcribe", 5}, {"translate", 6}}}};
  }
  // What is told of the file with these keys besides.
  std::string take(const Json& more, const std::set<std::string>& given = {}) {
    const auto before = opened_.generation;
    opened_.generation.update(more);
    try {
      auto told = take_speech_defaults(opened_, given, options_);
      opened_.generation = before;
      return told;
    } catch (const Error&) {
      opened_.generation = before;
      throw;
    }
  }
  std::string refusal(const Json& more) {
    try {
      take(more);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
    return "no error";
  }
  std::vector<std::int32_t> heard(TranscribeOptions options) {
    std::vector<float> sound;
    for (int i = 0; i < 8000; ++i) sound.push_back(0.3F * std::sin(0.1F * static_cast<float>(i)));
    return Transcriber(opened_, std::move(options))(sound).parts.at(0).ids;
  }

  OpenedModel opened_;
  TranscribeOptions options_;
};

TEST_F(SpeechDefaults, AreThoseOfTheFile) {
  EXPECT_EQ(take(Json::object()), "");
  EXPECT_EQ(options_.language, "");
  EXPECT_EQ(options_.task, "transcribe");
  EXPECT_EQ(
      take({{"language", "German"},
            {"task", "translate"},
            {"return_timestamps", true},
            {"num_beams", 4},
            {"length_penalty", 0.5},
            {"max_length", 9}}),
      "language de, task translate, return_timestamps true, num_beams 4, length_penalty 0.5, max_length 9 of "
      "M/generation_config.json");
  EXPECT_EQ(options_.language, "de");
  EXPECT_EQ(options_.task, "translate");
  EXPECT_TRUE(options_.decoding.timestamps);
  EXPECT_EQ(options_.decoding.beams, 4);
  EXPECT_EQ(options_.decoding.length_penalty, 0.5);
  EXPECT_EQ(options_.decoding.max_new_tokens, 9);
  EXPECT_EQ(take({{"max_length", 9}, {"max_new_tokens", 3}}), "max_new_tokens 3 of M/generation_config.json");
}

TEST_F(SpeechDefaults, ThatChangeNothingAreNotTold) {
  EXPECT_EQ(take({{"task", "transcribe"},
                  {"num_beams", 1},
                  {"length_penalty", 2},
                  {"max_length", 448},
                  {"language", nullptr},
                  {"return_timestamps", false}}),
            "");
  EXPECT_EQ(options_.decoding.length_penalty, 1) << "it is one of beams";
  EXPECT_EQ(options_.decoding.max_new_tokens, 0);
  opened_.generation.erase("lang_to_id");
  opened_.generation.erase("no_timestamps_token_id");
  EXPECT_EQ(take({{"language", "en"}, {"return_timestamps", true}}), "") << "the model has neither";
}

TEST_F(SpeechDefaults, GiveWayToFlags) {
  options_.language = "en";
  options_.decoding.beams = 2;
  EXPECT_EQ(take({{"language", "de"}, {"task", "translate"}, {"num_beams", 4}}, {"--language", "--beams"}),
            "task translate of M/generation_config.json");
  EXPECT_EQ(take({{"language", "Klingon"}}, {"--language"}), "") << "the flag takes its place";
  EXPECT_EQ(options_.language, "en");
  EXPECT_EQ(options_.decoding.beams, 2);
  take({{"forced_decoder_ids", {{1, 4}, {2, 6}}}}, {"--task"});
  EXPECT_THAT(options_.forced, ElementsAre()) << "as transformers: language or task take its place";
  take({{"forced_decoder_ids", {{1, 4}, {2, 6}}}, {"task", "transcribe"}});
  EXPECT_THAT(options_.forced, ElementsAre());
}

TEST_F(SpeechDefaults, OfOlderFilesAreThePrompt) {
  EXPECT_EQ(take({{"forced_decoder_ids", {{1, nullptr}, {2, 5}}}}), "");
  EXPECT_THAT(options_.forced, ElementsAre(kHeardLanguage, 5));
  EXPECT_EQ(take({{"forced_decoder_ids", {{2, 6}}}}), "") << "it does not begin behind the start";
  EXPECT_THAT(options_.forced, ElementsAre());
  EXPECT_EQ(take({{"forced_decoder_ids", {{1, 4}, {2, 6}, {3, 20}}}}), "language de, task translate of M");
  EXPECT_THAT(options_.forced, ElementsAre(4, 6, 20));
  const auto by_ids = heard(options_), by_name = heard({.language = "de", .task = "translate"});
  EXPECT_EQ(by_ids, by_name);
  EXPECT_EQ(heard({.language = "german", .task = "translate"}), by_name);
  EXPECT_NE(by_ids, heard({.language = "en"})) << "the prompt counts";
  EXPECT_EQ(heard({.forced = {kHeardLanguage, 5}}), heard({}));
  EXPECT_EQ(heard({.decoding = {.timestamps = true}, .forced = {4, 5, 20}}),
            heard({.language = "de", .decoding = {.timestamps = true}}));
}

TEST_F(SpeechDefaults, SayWhatIsWrong) {
  EXPECT_EQ(
      refusal({{"language", "Klingon"}}),
      "M/generation_config.json: language is \"Klingon\"; it must be one of de, en\nhint: --language takes its "
      "place");
  EXPECT_THAT(refusal({{"task", 3}}),
              HasSubstr("task is 3; it must be a text\nhint: --task takes its place"));
  EXPECT_THAT(refusal({{"return_timestamps", 1}}),
              HasSubstr("return_timestamps is 1; it must be true or false"));
  EXPECT_THAT(
      refusal({{"num_beams", 1.5}}),
      HasSubstr(
          "num_beams is 1.5; it must be a whole number, from 1 to 1024\nhint: --beams takes its place"));
  EXPECT_THAT(refusal({{"num_beams", "many"}}), HasSubstr("num_beams is \"many\"; it must be"));
  EXPECT_THAT(refusal({{"max_new_tokens", 0}}), HasSubstr("max_new_tokens is 0; it must be from 1 to"));
  for (const Json& wrong :
       {Json::parse("[[1,4],[3,5]]"), Json::parse("[[1,99]]"), Json::parse("[7]"), Json(7)}) {
    EXPECT_THAT(refusal({{"forced_decoder_ids", wrong}}),
                HasSubstr("forced_decoder_ids is " + wrong.dump() +
                          "; it must be a list of [place, id], places from 1 on, ids below 40\nhint: "));
  }
}

}  // namespace
}  // namespace bora::run
