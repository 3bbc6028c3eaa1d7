// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/audio/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bora/audio/test_sounds.h"
#include "bora/base/error.h"

namespace bora::audio {
namespace {

using test::sine;

// The largest difference, the ends, which hear silence, left out.
double inner_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t i = 100; i + 100 < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

TEST(Resample, ToItselfIsTheSameBits) {
  const auto sound = sine(440, 16000, 500);
  EXPECT_EQ(resample(sound, 16000, 16000), sound);
}

TEST(Resample, TonesStayWhatTheyAre) {
  for (const int rate : {8000, 11025, 22050, 44100, 44099, 48000}) {
    const auto at_16000 = resample(sine(1000, rate, static_cast<std::size_t>(rate) / 4), rate, 16000);
    EXPECT_EQ(at_16000.size(), static_cast<std::size_t>(std::ceil(rate / 4 * 16000.0 / rate))) << rate;
    EXPECT_LT(inner_difference(at_16000, sine(1000, 16000, at_16000.size())), 1e-4) << rate;
  }
}

TEST(Resample, HighTonesStayAndHigherOnesVanish) {
  const auto high = resample(sine(6800, 48000, 12000), 48000, 16000);
  EXPECT_LT(inner_difference(high, sine(6800, 16000, high.size())), 1e-3);
  const auto higher = resample(sine(9000, 48000, 12000), 48000, 16000);
  EXPECT_LT(inner_difference(higher, std::vector<float>(higher.size())), 1e-3);
}

TEST(Resample, ConstantsStay) {
  const auto out = resample(std::vector<float>(4000, 0.25f), 44100, 16000);
  EXPECT_LT(inner_difference(out, std::vector<float>(out.size(), 0.25f)), 1e-6);
}

TEST(Resample, ShortSounds) {
  EXPECT_TRUE(resample({}, 8000, 16000).empty());
  EXPECT_EQ(resample(std::vector<float>{1}, 768000, 16000).size(), 1u);
}

TEST(Resample, RatesAreChecked) {
  try {
    resample({}, 0, 16000);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "resample: rates should be 1 Hz or more but are 0 and 16000");
  }
}

}  // namespace
}  // namespace bora::audio
