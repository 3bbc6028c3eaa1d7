// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/lanes.h"

#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora::train {
namespace {

TEST(TokenBatch, RowsOfABatchWithItsTargets) {
  data::Batch rows{
      .sequences = 2, .seq_len = 3, .tokens = {1, 2, 3, 4, 5, 6}, .loss_weights = {1, 1, 0, 1, 0.5F, 0}};
  try {
    token_batch(rows, 0, 2);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "batch: 0 targets for 6 tokens\nhint: data::set_next_token_targets makes them");
  }
  data::set_next_token_targets(rows);
  const auto got = token_batch(rows, 1, 1);
  EXPECT_EQ(got.ids.to_vector<std::int32_t>(), (std::vector<std::int32_t>{4, 5, 6}));
  EXPECT_EQ(got.targets.to_vector<std::int32_t>(), (std::vector<std::int32_t>{5, 6, 0}));
  EXPECT_EQ(got.weights.to_vector<float>(), (std::vector<float>{1, 0.5F, 0}));
  EXPECT_TRUE(got.segments.empty());
}

TEST(TokenBatch, IsTheSameByWayOfThatOfAPass) {
  data::Batch rows{
      .sequences = 1, .seq_len = 3, .tokens = {1, 2, 3}, .segments = {0, 0, 1}, .loss_weights = {1, 0.5F, 0}};
  data::set_next_token_targets(rows);
  const auto batch = token_batch(rows, 0, 1), back = token_batch(pass_inputs(batch));
  EXPECT_EQ(back.ids.to_vector<std::int32_t>(), batch.ids.to_vector<std::int32_t>());
  EXPECT_EQ(back.targets.to_vector<std::int32_t>(), batch.targets.to_vector<std::int32_t>());
  EXPECT_EQ(back.weights.to_vector<float>(), batch.weights.to_vector<float>());
  EXPECT_EQ(back.segments.to_vector<std::int32_t>(), batch.segments.to_vector<std::int32_t>());
  EXPECT_TRUE(back.present.empty());
  EXPECT_TRUE(back.features.empty());
}

TEST(TokenBatch, TellsPaddingWhereThereIsSome) {
  data::Batch rows{.sequences = 2,
                   .seq_len = 3,
                   .tokens = {1, 2, 0, 4, 5, 6},
                   .segments = {0, 0, -1, 0, 1, 1},
                   .loss_weights = {1, 0, 0, 1, 1, 0}};
  data::set_next_token_targets(rows);
  const auto padded = token_batch(pass_inputs(token_batch(rows, 0, 1)));
  EXPECT_EQ(padded.present.to_vector<float>(), (std::vector<float>{1, 1, 0}));
  EXPECT_TRUE(token_batch(rows, 1, 1).present.empty());
}

}  // namespace
}  // namespace bora::train
