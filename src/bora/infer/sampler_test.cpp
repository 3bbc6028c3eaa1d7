// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/infer/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(Sampler, NoLogitsIsAnError) { EXPECT_THROW(sample({}, {}, Key{}), Error); }

}  // namespace
}  // namespace bora::infer
