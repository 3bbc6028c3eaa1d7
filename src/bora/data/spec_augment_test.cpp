// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/data/spec_augment.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "bora/data/test_datasets.h"

namespace bora::data {
namespace {

constexpr SoundShape kShape{8, 50};

std::vector<float> augmented(const SpecAugment& stripes, std::uint64_t seed) {
  std::vector<float> features(static_cast<std::size_t>(kShape.size()), 1.0F);
  augment(stripes, kShape, Key::from_seed(seed), features);
  return features;
}

double zeros(const std::vector<float>& features) {
  return static_cast<double>(std::count(features.begin(), features.end(), 0.0F));
}

TEST(SpecAugment, StripesAreWholeAndFollowFromTheKey) {
  const SpecAugment time{.mask_time_prob = 0.2, .mask_time_length = 5, .mask_time_min_masks = 0};
  const auto once = augmented(time, 1);
  EXPECT_EQ(once, augmented(time, 1));
  EXPECT_NE(once, augmented(time, 2));
  for (std::size_t i = 50; i < once.size(); ++i) EXPECT_EQ(once[i], once[i % 50]) << "all bins of a frame";
  EXPECT_GE(zeros(once), 8 * 6) << "two stripes or more, that may overlap";

  const SpecAugment bins{.mask_time_prob = 0,
                         .mask_time_min_masks = 0,
                         .mask_feature_prob = 1,
                         .mask_feature_length = 8,
                         .mask_feature_min_masks = 1};
  EXPECT_EQ(zeros(augmented(bins, 1)), 400) << "all bins in one stripe";
}

// Stripes that may not overlap much: of length 1 none overlap.
TEST(SpecAugment, ShareIsThatOfTheConfiguration) {
  const SpecAugment single{.mask_time_prob = 0.13, .mask_time_length = 1, .mask_time_min_masks = 0};
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) sum += zeros(augmented(single, seed)) / 8;
  EXPECT_NEAR(sum / 400, 6.5, 0.1);
}

TEST(SpecAugment, TakesNoMoreThanThereIs) {
  const SpecAugment many{.mask_time_prob = 0, .mask_time_length = 20, .mask_time_min_masks = 9};
  EXPECT_LE(zeros(augmented(many, 3)), 8 * 40) << "two fit";
  EXPECT_GT(zeros(augmented(many, 3)), 8 * 20) << "and begin at different places";
  const SpecAugment long_ones{.mask_time_length = 51, .mask_time_min_masks = 2};
  EXPECT_EQ(zeros(augmented(long_ones, 3)), 0);
  std::vector<float> short_ones(3);
  EXPECT_THAT(error_of(ErrorKind::InvalidArgument, [&] { augment({}, kShape, Key{}, short_ones); }),
              testing::HasSubstr("3 features; there should be 400"));
}

}  // namespace
}  // namespace bora::data
