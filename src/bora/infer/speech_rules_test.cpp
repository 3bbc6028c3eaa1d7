// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/speech_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bora::infer {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

// Words 0 to 3, the end 4, the start 5, no timestamps 6, timestamps 7 to 11.
SpeechTokens tokens() { return {.start = 5, .end = 4, .no_timestamps = 6}; }

// Those that may come next where all have the same score, but that words are more probable than timestamps.
Ids allowed(const SpeechTokens& t, const Ids& sampled, bool timestamps = true, float word = 3) {
  std::vector<float> scores(12, 0);
  std::fill_n(scores.begin(), 4, word);
  apply_speech_rules(t, timestamps, sampled, scores);
  Ids out;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isinf(scores[i])) out.push_back(static_cast<std::int32_t>(i));
  }
  return out;
}

TEST(SpeechRules, BeginWithATimestamp) {
  EXPECT_THAT(allowed(tokens(), {}), ElementsAre(7, 8, 9, 10, 11));
  auto early = tokens();
  early.max_initial_timestamp = 1;
  EXPECT_THAT(allowed(early, {}), ElementsAre(7, 8));
}

TEST(SpeechRules, WordsFollowTheFirstTimestamp) {
  EXPECT_THAT(allowed(tokens(), {8}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(SpeechRules, TimestampsDoNotGoBack) {
  EXPECT_THAT(allowed(tokens(), {8, 0}), ElementsAre(0, 1, 2, 3, 4, 5, 9, 10, 11));
}

TEST(SpeechRules, ATimestampAfterWordsHasASecondOrIsTheEnd) {
  EXPECT_THAT(allowed(tokens(), {8, 0, 10}), ElementsAre(10, 11));
  EXPECT_THAT(allowed(tokens(), {8, 0, 10, 10}), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(SpeechRules, TimestampsTogetherAgainstTheBestWord) {
  EXPECT_THAT(allowed(tokens(), {8, 0}, true, 1), ElementsAre(9, 10, 11));
}

TEST(SpeechRules, SuppressedTokens) {
  auto t = tokens();
  t.suppress = {1};
  t.begin_suppress = {2, 4};
  EXPECT_THAT(allowed(t, {}, false), ElementsAre(0, 3, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(allowed(t, {0}, false), ElementsAre(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(SplitByTimestamps, PairsAreCuts) {
  const auto parts = split_by_timestamps(tokens(), {7, 0, 9, 9, 1, 10, 10, 2}, 100);
  EXPECT_THAT(parts.parts, ElementsAre(SpeechPart{0, 2, {7, 0, 9}}, SpeechPart{2, 3, {9, 1, 10}}));
  EXPECT_EQ(parts.advance, 6);
}

TEST(SplitByTimestamps, OneTimestampAtTheEndIsTheEndOfSpeech) {
  const auto parts = split_by_timestamps(tokens(), {7, 0, 9, 9, 1, 10}, 100);
  EXPECT_THAT(parts.parts, ElementsAre(SpeechPart{0, 2, {7, 0, 9}}, SpeechPart{2, 3, {9, 1, 10}}));
  EXPECT_EQ(parts.advance, 100);
}

TEST(SplitByTimestamps, WithoutPairsAllIsOnePart) {
  EXPECT_THAT(split_by_timestamps(tokens(), {7, 0, 9}, 100).parts, ElementsAre(SpeechPart{0, 2, {7, 0, 9}}));
  EXPECT_THAT(split_by_timestamps(tokens(), {0, 1}, 100).parts, ElementsAre(SpeechPart{0, 50, {0, 1}}));
  EXPECT_THAT(split_by_timestamps(tokens(), {}, 100).parts, ElementsAre(SpeechPart{0, 50, {}}));
  EXPECT_EQ(split_by_timestamps(tokens(), {7, 0, 9}, 100).advance, 100);
}

}  // namespace
}  // namespace bora::infer
