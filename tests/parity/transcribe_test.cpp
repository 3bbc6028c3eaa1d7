// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A sound longer than the model hears at a time: the parts, times and tokens of transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "bora/base/error.h"
#include "bora/run/models.h"
#include "bora/run/transcribe.h"

namespace bora::run {
namespace {

using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

struct Part {
  double begin, end;
  Ids ids;
};

// A rising tone, with noise from a linear congruential generator.
std::vector<float> rising_tone(std::size_t size) {
  std::vector<float> out;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < size; ++i) {
    const auto t = static_cast<double>(i);
    state = state * 1664525u + 1013904223u;
    const auto tone = static_cast<float>(0.3 * std::sin(2 * std::numbers::pi * (200 + t / 100) * t / 16000));
    out.push_back(tone + 0.1F * (static_cast<float>(state >> 16) / 65536.0F - 0.5F));
  }
  return out;
}

// One character for each id.
Tokenizer characters() {
  Json vocab = Json::object();
  for (int i = 0; i < 32; ++i) vocab[std::string(1, static_cast<char>('!' + i))] = i;
  const Json level{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const Json json{{"version", "1.0"},
                  {"added_tokens", Json::array()},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", level},
                  {"post_processor", nullptr},
                  {"decoder", level},
                  {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  return Tokenizer::from_json(json.dump(), "{}", "characters");
}

class Transcribing : public testing::Test {
 protected:
  Transcribing() {
    opened_.directory = BORA_SOURCE_DIR "/tests/parity/speech/tiny-whisper";
    opened_.model = load_model(opened_.directory);
    opened_.tokenizer = characters();
    opened_.generation = {{"decoder_start_token_id", 1},
                          {"eos_token_id", 2},
                          {"no_timestamps_token_id", 20},
                          {"begin_suppress_tokens", {2}},
                          {"max_initial_timestamp_index", 5}};
  }
  Transcript of(std::size_t samples, std::int64_t beams, bool timestamps = true) {
    const Transcriber transcribe(opened_, {.decoding = {.timestamps = timestamps, .beams = beams}});
    return transcribe(rising_tone(samples));
  }
  static void expect_parts(const Transcript& heard, const std::vector<Part>& expected) {
    ASSERT_EQ(heard.parts.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(heard.parts[i].begin, expected[i].begin, 1e-9) << i;
      EXPECT_NEAR(heard.parts[i].end, expected[i].end, 1e-9) << i;
      EXPECT_EQ(heard.parts[i].ids, expected[i].ids) << i;
    }
  }

  OpenedModel opened_;
};

// By generate() of transformers 4.57.6, with features of the whole sound. Where a chunk ends with a pair of timestamps, it
// counts both to the part before.
TEST_F(Transcribing, LongSoundsAreHeardAsByTransformers) {
  const auto greedy = of(40000, 1);
  EXPECT_EQ(greedy.seconds, 2.5);
  expect_parts(greedy, {{0, 0.18, {21, 7, 7, 7, 30, 7, 7, 7, 7, 7, 7}},
                        {1, 1.18, {21, 7, 7, 7, 30}},
                        {1.18, 1.36, {21, 7, 23, 7, 7, 7, 30, 7, 7, 7, 7}},
                        {2.18, 2.36, {21, 7, 7, 7, 30, 7, 7, 7, 7, 7, 7}}});
  EXPECT_EQ(greedy.parts[1].text, "(((") << "without timestamps";
  expect_parts(of(40000, 3), {{0, 0.18, {21, 7, 7, 7, 30, 7, 7, 7, 7, 7, 7}},
                              {1, 1.18, {21, 7, 7, 30, 7, 7, 7, 7, 7, 7, 7}},
                              {2, 2.18, {21, 7, 12, 7, 7, 7, 7, 7, 30}},
                              {2.18, 2.3, {21, 7, 7, 7, 27, 7, 7, 7, 7, 7, 7}}});
}

// By transformers, too: behind the last pair of timestamps the sound is heard again, to its end.
TEST_F(Transcribing, ASingleChunkIsHeardToItsEnd) {
  const Transcriber transcribe(opened_, {.decoding = {.timestamps = true}});
  const auto sound = rising_tone(40000);
  expect_parts(transcribe(std::span(sound).subspan(16000, 16000)),
               {{0, 0.18, {21, 7, 7, 7, 30}}, {0.18, 0.36, {26, 12, 7, 30, 7, 7, 7, 7, 7, 7, 7}}});
  const auto cut = transcribe(std::span(sound).subspan(16000, 2400));
  ASSERT_FALSE(cut.parts.empty());
  EXPECT_LT(cut.parts.back().begin, 0.15) << "nothing is heard behind the sound's end";
}

TEST_F(Transcribing, ShortSoundsAreOneChunk) {
  const auto heard = of(8000, 1, /*timestamps=*/false);
  ASSERT_EQ(heard.parts.size(), 1u);
  EXPECT_EQ(heard.parts[0].end, 0.5);
  EXPECT_EQ(heard.text, heard.parts[0].text);
  EXPECT_EQ(heard.language, "");
}

// Without timestamps in the vocabulary, chunks follow each other.
TEST_F(Transcribing, ModelsWithoutTimestampsHearChunks) {
  opened_.generation.erase("no_timestamps_token_id");
  const auto heard = of(40000, 1, false);
  ASSERT_EQ(heard.parts.size(), 3u);
  EXPECT_EQ(heard.parts[2].begin, 2);
  EXPECT_EQ(heard.parts[2].end, 2.5);
  EXPECT_EQ(heard.text, heard.parts[0].text + " " + heard.parts[1].text + " " + heard.parts[2].text);
}

TEST_F(Transcribing, SaysWhatTheModelLacks) {
  const auto refusal = [&](const TranscribeOptions& options) -> std::string {
    try {
      const Transcriber transcribe(opened_, options);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Usage);
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(refusal({.language = "de"}),
              HasSubstr("transcribe: --language de, but " + opened_.directory + " has none to choose from"));
  EXPECT_THAT(refusal({.task = "translate"}), HasSubstr("--task translate, but "));
  opened_.generation["lang_to_id"] = {{"<|en|>", 3}, {"<|de|>", 4}};
  opened_.generation["task_to_id"] = {{"transcribe", 5}, {"translate", 6}};
  EXPECT_THAT(refusal({.language = "den"}),
              HasSubstr("--language den is not one of de, en; did you mean `de`?"));
  EXPECT_THAT(refusal({.task = "sing"}), HasSubstr("--task sing is not one of transcribe, translate"));
  EXPECT_EQ(refusal({.language = "de", .task = "translate"}), "no error");
  EXPECT_EQ(of(8000, 1).language.size(), 2u) << "it listens";
  opened_.generation["no_timestamps_token_id"] = 31;
  EXPECT_THAT(refusal({.decoding = {.timestamps = true}}), HasSubstr("transcribe: --timestamps, but "));
}

}  // namespace
}  // namespace bora::run
