// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/models/whisper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/nn/language_model.h"

namespace bora::whisper {
namespace {

using testing::HasSubstr;

std::string refusal(ErrorKind kind, const Json& json) {
  try {
    Config::from_hf(json, "config.json");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  return "no error";
}

TEST(WhisperConfig, KeepsTheKeysOfOthers) {
  const Json json = {{"model_type", "whisper"},
                     {"d_model", 64},
                     {"encoder_attention_heads", 4},
                     {"decoder_attention_heads", 8},
                     {"suppress_tokens", {1, 2}}};
  const auto config = Config::from_hf(json, "config.json");
  EXPECT_EQ(config.d_model, 64);
  EXPECT_EQ(config.frames(), 3000);
  const Json out = config.to_hf(100);
  EXPECT_EQ(out["vocab_size"], 100);
  EXPECT_EQ(out["suppress_tokens"], (Json{1, 2}));
  EXPECT_EQ(out["decoder_attention_heads"], 8);
  EXPECT_EQ(out["max_source_positions"], 1500);
}

TEST(WhisperConfig, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal(ErrorKind::Corruption, {{"d_model", 0}}),
              HasSubstr("d_model = 0  must be from 1 to 2147483647"));
  EXPECT_THAT(refusal(ErrorKind::Corruption, {{"decoder_attention_heads", 5}}),
              HasSubstr("decoder_attention_heads = 5  must divide d_model = 384"));
  EXPECT_THAT(refusal(ErrorKind::Corruption,
                      {{"d_model", 3}, {"encoder_attention_heads", 1}, {"decoder_attention_heads", 1}}),
              HasSubstr("d_model = 3  must be even and at least 4"));
  EXPECT_THAT(refusal(ErrorKind::Corruption, {{"init_std", -1}}),
              HasSubstr("init_std = -1  must be at least 0"));
  EXPECT_THAT(refusal(ErrorKind::Unsupported, {{"scale_embedding", true}}),
              HasSubstr("config.json: scale_embedding = true is not supported"));
  EXPECT_THAT(refusal(ErrorKind::Unsupported, {{"tie_word_embeddings", false}}),
              HasSubstr("config.json: tie_word_embeddings = false is not supported"));
}

}  // namespace
}  // namespace bora::whisper
