// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bora/base/error.h"

namespace bora::infer {
namespace {

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
  std::vector<float> logits{1, 3, 2, 3};
  EXPECT_EQ(most_probable(logits), 1);
  EXPECT_EQ(sample(logits, {.temperature = 0}, Key{}), 1);
}

TEST(Sampler, DrawsInProportion) {
  std::vector<float> logits{0, std::log(3.0F)};
  int ones = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) ones += sample(logits, {}, Key::from_seed(1).fold(i));
  EXPECT_NEAR(ones / 4000.0, 0.75, 0.03);
}

TEST(Sampler, TopKAndTopPCutTheTail) {
  std::vector<float> logits{5, 4, 3, 2, 1};
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_LT(sample(logits, {.top_k = 2}, Key::from_seed(2).fold(i)), 2);
    EXPECT_EQ(sample(logits, {.top_p = 0.5}, Key::from_seed(3).fold(i)), 0);
  }
}

TEST(Sampler, TheSameKeyDrawsTheSame) {
  std::vector<float> logits(100, 0);
  auto key = Key::from_seed(9);
  EXPECT_EQ(sample(logits, {}, key), sample(logits, {}, key));
}

TEST(Sampler, MinPIsAShareOfTheMostProbable) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  std::vector<int> seen(4);
  for (std::uint64_t i = 0; i < 500; ++i)
    ++seen[static_cast<std::size_t>(sample(logits, {.min_p = 0.29}, Key::from_seed(4).fold(i)))];
  EXPECT_GT(seen[2], 0);
  EXPECT_EQ(seen[3], 0);
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(sample(logits, {.min_p = 1}, Key::from_seed(4).fold(i)), 0);
}

// As many tokens as a vocabulary has: only the first of them are sorted, and all can be drawn.
TEST(Sampler, DrawsFarDownTheRanking) {
  std::vector<float> logits(1000, 0);
  for (std::size_t i = 0; i < 1000; ++i) logits[i] = -0.001F * static_cast<float>(i * 7 % 1000);
  std::vector<int> seen(10);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto id = static_cast<std::size_t>(sample(logits, {}, Key::from_seed(5).fold(i)));
    ++seen[id * 7 % 1000 / 100];
  }
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_NEAR(seen[i] / 2000.0, 0.1 * std::exp(-0.1 * static_cast<double>(i)) / 0.6642, 0.03) << i;
}

TEST(Sampler, WhatHasNoProbabilityIsNeverDrawn) {
  const float none = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{none, 1, none, 1.5F, none};
  for (std::uint64_t i = 0; i < 300; ++i) EXPECT_EQ(sample(logits, {}, Key::from_seed(6).fold(i)) % 2, 1);
}

// As transformers has it: divided where positive, multiplied where negative, once however often it occurs.
TEST(Sampler, RepetitionPenaltyIsThatOfTransformers) {
  std::vector<float> logits{2, -2, 3, 0};
  penalize(logits, {.repetition_penalty = 2}, std::vector<std::int32_t>{0, 0},
           std::vector<std::int32_t>{1, 3});
  EXPECT_EQ(logits, (std::vector<float>{1, -4, 3, 0}));
}

// As OpenAI has it: mu[j] - count[j] * frequency - (count[j] > 0) * presence, of the text and not the prompt.
TEST(Sampler, PresenceAndFrequencyPenaltiesAreThoseOfOpenAi) {
  std::vector<float> logits{5, 5, 5};
  penalize(logits, {.presence_penalty = 0.5, .frequency_penalty = 0.25}, std::vector<std::int32_t>{2},
           std::vector<std::int32_t>{1, 1, 0});
  EXPECT_EQ(logits, (std::vector<float>{4.25F, 4, 5}));
}

TEST(Sampler, LogProbsAreThoseOfTheWholeDistribution) {
  const std::vector<float> logits{std::log(1.0F), std::log(5.0F), std::log(2.0F), std::log(2.0F)};
  const auto told = log_probs(logits, 0, 3);
  EXPECT_NEAR(told.log_prob, std::log(0.1), 1e-6);
  ASSERT_EQ(told.top.size(), 3U);
  EXPECT_EQ(told.top[0].id, 1);
  EXPECT_EQ(told.top[1].id, 2);
  EXPECT_EQ(told.top[2].id, 3);
  EXPECT_NEAR(told.top[0].log_prob, std::log(0.5), 1e-6);
  EXPECT_EQ(log_probs(logits, 0, 0).top.size(), 0U);
  EXPECT_EQ(log_probs(logits, 0, 99).top.size(), 4U);
}

TEST(Sampler, NoLogitsIsAnError) { EXPECT_THROW(sample({}, {}, Key{}), Error); }

}  // namespace
}  // namespace bora::infer
