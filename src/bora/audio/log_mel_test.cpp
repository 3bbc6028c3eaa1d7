// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/audio/log_mel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "bora/audio/test_sounds.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/json.h"

namespace bora::audio {
namespace {

using testing::HasSubstr;

// A tone of 440 Hz, with noise from a linear congruential generator over the first 6000 samples.
std::vector<float> tone_and_noise(std::size_t size) {
  std::vector<float> sound = test::sine(440, 16000, size, 0.3);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < 6000; ++i) {
    state = state * 1664525u + 1013904223u;
    sound[i] += 0.1f * (static_cast<float>(state >> 16) / 65536.0f - 0.5f);
  }
  return sound;
}

struct Expected {
  std::size_t bin, frame;
  float value;
};

void expect_features(std::int64_t bins, std::size_t samples, const std::vector<Expected>& expected,
                     double sum) {
  const LogMel log_mel({.feature_size = bins, .chunk_length = 1});
  const auto features = log_mel(tone_and_noise(samples));
  ASSERT_EQ(features.size(), static_cast<std::size_t>(bins) * 100);
  for (const auto& [bin, frame, value] : expected)
    EXPECT_NEAR(features[bin * 100 + frame], value, 1e-4) << bin << ", " << frame;
  EXPECT_NEAR(std::accumulate(features.begin(), features.end(), 0.0), sum, 0.05);
}

// From transformers 4.57.6; the sound of 12000 samples is filled up with silence, that of 20000 cut.
TEST(LogMel, IsTransformersFeatures) {
  expect_features(80, 12000,
                  {{0, 0, 0.869294822f},
                   {5, 10, 0.345447719f},
                   {20, 30, 0.481548786f},
                   {79, 3, 0.356401205f},
                   {40, 60, -0.668339014f},
                   {11, 74, 1.326028228f},
                   {79, 99, -0.668339014f},
                   {30, 76, -0.175987244f}},
                  -1664.8395);
  expect_features(128, 20000,
                  {{0, 0, 0.793535590f},
                   {5, 10, 0.144774735f},
                   {20, 30, 1.180322170f},
                   {127, 3, 0.336681187f},
                   {64, 60, -0.621305108f},
                   {11, 74, -0.621305108f}},
                  -2425.8749);
}

TEST(LogMel, FiltersAreSlaneys) {
  const LogMel log_mel(FeatureConfig{});
  const auto& filters = log_mel.filters();
  ASSERT_EQ(filters.size(), 80u * 201u);
  EXPECT_NEAR(std::accumulate(filters.begin(), filters.end(), 0.0), 1.9990241029178577, 1e-9);
  EXPECT_NEAR(filters[1], 0.024862593984176087, 1e-12);
  EXPECT_EQ(filters[30 * 201 + 40], 0);
}

TEST(LogMel, SilenceIsTheFloor) {
  const LogMel log_mel({.chunk_length = 1});
  for (const float value : log_mel({})) ASSERT_EQ(value, -1.5f);
}

TEST(LogMel, SizesOfAnyFactors) {
  // A frame of a prime number of samples: the transform has one factor.
  const LogMel log_mel({.feature_size = 4, .hop_length = 100, .n_fft = 101, .chunk_length = 1});
  const auto features = log_mel(test::sine(440, 16000, 16000));
  EXPECT_EQ(features.size(), 4u * 160u);
  EXPECT_GT(features[80], features[3 * 160 + 80]);  // in the lowest of the bins, not in the highest
}

// One tensor of floats out of a safetensors file.
std::vector<float> floats_of(const std::string& file, const std::string& tensor) {
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), 8);
  const Json entry = parse_json(std::string_view(file).substr(8, header), "header").at(tensor);
  const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
  std::vector<float> values((end - begin) / 4);
  std::memcpy(values.data(), file.data() + 8 + header + begin, end - begin);
  return values;
}

TEST(LogMel, IsTheReferencesInputFeatures) {
  const std::string folder = std::string(BORA_SHARED_DIR) + "/data/models/whisper";
  if (!exists(folder)) GTEST_SKIP() << folder << " is not there";
  const LogMel log_mel(read_feature_config(folder + "/preprocessor_config.json"));
  const std::string file = read_text(folder + "/reference.safetensors");
  const auto sound = floats_of(file, "waveform"), expected = floats_of(file, "input_features");
  ASSERT_EQ(sound.size(), 2u * 32000u);
  for (std::size_t row = 0; row < 2; ++row) {
    const auto features = log_mel(std::span(sound).subspan(row * 32000, 32000));
    ASSERT_EQ(features.size() * 2, expected.size());
    for (std::size_t i = 0; i < features.size(); ++i)
      ASSERT_NEAR(features[i], expected[row * features.size() + i], 1e-4) << row << ", " << i;
  }
}

std::string refusal(ErrorKind kind, std::string_view json) {
  try {
    parse_feature_config(json, "p.json");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(FeatureConfig, IsRead) {
  const FeatureConfig config = parse_feature_config(R"({"feature_size": 128, "chunk_length": 10})", "p.json");
  EXPECT_EQ(config.feature_size, 128);
  EXPECT_EQ(config.samples(), 160000);
  EXPECT_EQ(config.frames(), 1000);
}

TEST(FeatureConfig, ProblemsAreNamed) {
  EXPECT_EQ(refusal(ErrorKind::Corruption, "[]"), "p.json: should be an object");
  EXPECT_EQ(refusal(ErrorKind::Corruption, R"({"n_fft": 1})"),
            "p.json: n_fft should be between 2 and 65536 but is 1");
  EXPECT_EQ(refusal(ErrorKind::Corruption, R"({"feature_size": 0})"),
            "p.json: feature_size should be between 1 and 1024 but is 0");
  EXPECT_EQ(refusal(ErrorKind::Corruption, R"({"chunk_length": 99999})"),
            "p.json: chunk_length should be between 1 and 3600 but is 99999");
  EXPECT_EQ(refusal(ErrorKind::Corruption, R"({"sampling_rate": 1})"),
            "p.json: sampling_rate should be between 1000 and 768000 but is 1");
  EXPECT_EQ(refusal(ErrorKind::Corruption, R"({"hop_length": 0})"),
            "p.json: hop_length should be between 1 and 480000 but is 0");
  EXPECT_THAT(refusal(ErrorKind::Corruption, R"({"hop_length": "x"})"), HasSubstr("p.json: hop_length"));
  EXPECT_EQ(refusal(ErrorKind::Unsupported, R"({"dither": 0.5})"), "p.json: dither is 0.5; Bora has 0 alone");
  EXPECT_EQ(refusal(ErrorKind::Unsupported, R"({"do_normalize": true})"),
            "p.json: do_normalize is true; Bora has false alone");
  EXPECT_EQ(refusal(ErrorKind::Unsupported, R"({"feature_extractor_type": "Other"})"),
            "p.json: feature_extractor_type is Other; Bora has WhisperFeatureExtractor");
}

TEST(LogMel, SizesAreChecked) {
  try {
    LogMel log_mel({.hop_length = 0});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "log-mel features: hop_length should be between 1 and 480000 but is 0");
  }
}

TEST(LogMel, AWholeSoundIsAsAChunkOfItsLength) {
  const LogMel log_mel({.chunk_length = 1});
  const auto second = test::sine(440, 16000, 16000, 0.5), longer = test::sine(440, 16000, 24100, 0.5);
  EXPECT_EQ(log_mel.whole(second), log_mel(second));
  EXPECT_EQ(log_mel.whole(longer).size(), 80u * 150);
  EXPECT_THROW(log_mel.whole(std::span(second).first(399)), Error);
}

}  // namespace
}  // namespace bora::audio
