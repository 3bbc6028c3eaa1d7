// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace bora {
namespace {

TEST(Range, TakesWhatItSays) {
  EXPECT_TRUE(kFraction.allows(0) && kFraction.allows(1) && kFraction.allows(0.5));
  EXPECT_FALSE(kFraction.allows(-1e-300) || kFraction.allows(1.0000001));
  EXPECT_FALSE(kPositive.allows(0));
  EXPECT_TRUE(kPositive.allows(5e-324));
  const Range open{.least = 0, .most = 1, .above = true, .below = true};
  EXPECT_FALSE(open.allows(0) || open.allows(1));
  EXPECT_TRUE(or_else(-1, kSize).allows(-1) && or_else(-1, kSize).allows(1));
  EXPECT_FALSE(or_else(-1, kSize).allows(0) || or_else(-1, kSize).allows(-2));
  for (const double word : {std::nan(""), double{INFINITY}, -double{INFINITY}})
    EXPECT_FALSE(kFinite.allows(word) || kNonNegative.allows(word) || kSeed.allows(word));
}

TEST(Range, Words) {
  EXPECT_EQ(kFinite.words(), "a finite number");
  EXPECT_EQ(at_least(1).words(), "at least 1");
  EXPECT_EQ(kPositive.words(), "above 0");
  EXPECT_EQ(kFraction.words(), "from 0 to 1");
  EXPECT_EQ(kSize.words(), "from 1 to 2147483647");
  EXPECT_EQ(kSeed.words(), "from 0 to 9223372036854775807");
  EXPECT_EQ((Range{.most = 2.5}.words()), "at most 2.5");
  EXPECT_EQ((Range{.least = 0, .most = 1, .below = true}.words()), "at least 0 and below 1");
  EXPECT_EQ(or_else(-1, at_least(1)).words(), "-1 or at least 1");
  EXPECT_EQ(range_words(nullptr), "");
  EXPECT_EQ(range_words(&kFinite), "");
  EXPECT_EQ(range_words(&kPositive, true), ", each above 0");
}

TEST(Range, ProblemsOfAType) {
  EXPECT_EQ(kFinite.problem<std::int64_t>(0x1p53), std::nullopt);
  EXPECT_EQ(kFinite.problem<std::int64_t>(0x1p54), "must be from -9007199254740992 to 9007199254740992");
  EXPECT_EQ(at_least(1).problem<std::int64_t>(0), "must be at least 1");
  EXPECT_EQ(at_least(1).problem<std::int32_t>(1e10), "must be from 1 to 2147483647");
  EXPECT_EQ(kSeed.problem<std::int64_t>(0x1p62), std::nullopt);
  EXPECT_EQ(kFinite.problem<double>(1e300), std::nullopt);
}

}  // namespace
}  // namespace bora
