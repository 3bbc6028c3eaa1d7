// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bora/base/error.h"

namespace bora::train {
namespace {

class TwoTokens final : public data::Dataset {
 public:
  explicit TwoTokens(std::int32_t second) : second_(second) {}
  std::int64_t size() const override { return 3; }
  std::int64_t seq_len() const override { return 2; }
  std::int32_t read(std::int64_t, const data::Row& row) const override {
    row.tokens[0] = 1;
    row.tokens[1] = second_;
    std::fill(row.segments.begin(), row.segments.end(), 0);
    std::fill(row.loss_weights.begin(), row.loss_weights.end(), 1.0F);
    return 0;
  }

 private:
  std::int32_t second_;
};

TEST(UnigramEntropy, OfTwoTokens) {
  EXPECT_DOUBLE_EQ(unigram_entropy(TwoTokens(1), 10, 4), 0);
  EXPECT_DOUBLE_EQ(unigram_entropy(TwoTokens(3), 10, 4), std::log(2.0));
}

TEST(UnigramEntropy, IdsOutsideOfTheVocabularyAreErrors) {
  for (const std::int32_t id : {4, -1, -100, 1 << 30}) {
    try {
      unigram_entropy(TwoTokens(id), 10, 4);
      ADD_FAILURE() << id;
    } catch (const Error& e) {
      EXPECT_EQ(e.what(), fmt::format("data: sequence 0 holds id {}, outside of the vocabulary of 4", id));
    }
  }
}

}  // namespace
}  // namespace bora::train
