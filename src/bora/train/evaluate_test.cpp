// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/mesh/test_communicator.h"

namespace bora::train {
namespace {

/// A sequence of its own for each index: tokens 1 to 4 of two documents, with weights.
class TwoDocuments final : public data::Dataset {
 public:
  explicit TwoDocuments(std::vector<float> weights) : weights_(std::move(weights)) {}
  std::int64_t size() const override { return 3; }
  std::int64_t seq_len() const override { return 4; }
  std::int32_t read(std::int64_t index, const data::Row& row) const override {
    check(index, row);
    std::iota(row.tokens.begin(), row.tokens.end(), 1);
    row.segments[0] = row.segments[1] = 0;
    row.segments[2] = row.segments[3] = 1;
    std::copy(weights_.begin(), weights_.end(), row.loss_weights.begin());
    return 0;
  }

 private:
  std::vector<float> weights_;
};

/// Loses as many nats as the number of the token to predict; training adds a penalty.
class CountingModel final : public nn::LanguageModel {
 public:
  std::vector<core::Parameter> parameters() override { return {}; }
  nn::ModelShape shape() const override { return {}; }
  nn::Objective objective(const nn::TokenBatch& batch, std::optional<Key>,
                          const nn::LossOptions&) const override {
    const auto targets = batch.targets.to_vector<std::int32_t>();
    const auto weights = batch.weights.to_vector<float>();
    double loss = 0, weight = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      loss += double{weights[i]} * targets[i];
      weight += weights[i];
    }
    const nn::NamedSum ids{"ids/last", core::full({}, batch.ids.to_vector<std::int32_t>().back()),
                           core::full({}, 1)};
    return {core::full({}, loss + 1000), core::full({}, weight), {ids}, core::full({}, loss)};
  }
  core::Array logits(const core::Array&, const nn::Context&) const override {
    fail(ErrorKind::Unsupported, "no logits");
  }
  nn::HfName hf_name(std::string_view) const override { return {}; }
  Json hf_config() const override { return {}; }
};

EvalResult result_of(const data::DatasetPtr& set) {
  const std::vector<std::int32_t> bytes = {0, 1, 10, 100, 1000};
  return evaluate(CountingModel(), *set, 2, 100, bytes, {});
}

TEST(Evaluate, LossAndBytesOfWhatCounts) {
  const auto joined = std::make_shared<TwoDocuments>(std::vector<float>{1, 1, 1, 0});
  EXPECT_EQ(result_of(joined).tokens, 9);
  EXPECT_EQ(result_of(joined).loss_sum, 3 * (2 + 3 + 4));
  EXPECT_EQ(result_of(joined).bytes, 3 * 1110);
  const EvalResult apart = result_of(data::within_segments(joined));
  EXPECT_EQ(apart.sequences, 3);
  EXPECT_EQ(apart.tokens, 6);
  EXPECT_EQ(apart.loss_sum, 3 * (2 + 4)) << "token 3 begins a document";
  EXPECT_EQ(apart.bytes, 3 * 1010) << "bytes of the tokens that are predicted";
}

TEST(Evaluate, WeightsCountForLossAndBytes) {
  const EvalResult weighted = result_of(std::make_shared<TwoDocuments>(std::vector<float>{0.5, 0, 2, 0}));
  EXPECT_EQ(weighted.tokens, 3 * 2.5);
  EXPECT_EQ(weighted.loss_sum, 3 * (1 + 8));
  EXPECT_EQ(weighted.bytes, 3 * (5 + 2000));
}

TEST(Evaluate, MetricsAreTheSameOnSeveralWorkers) {
  const auto set = std::make_shared<TwoDocuments>(std::vector<float>{1, 1, 1, 0});
  const EvalResult alone = result_of(set);  // batches of two and one
  EXPECT_EQ(alone.metrics, (std::vector<mesh::MetricSum>{{"ids/last", 8, 2}}));
  const auto errors = mesh::testing::run_workers({.count = 3}, [&](mesh::Communicator& c) {
    const auto got = evaluate(CountingModel(), *set, 2, 100, {}, {}, &c);
    EXPECT_EQ(got.metrics, alone.metrics);
    EXPECT_EQ(got.loss_sum, alone.loss_sum);
    EXPECT_EQ(got.tokens, alone.tokens);
    EXPECT_EQ(got.sequences, 3);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

/// Two tokens and two places of padding.
class Padded final : public data::Dataset {
 public:
  std::int64_t size() const override { return 1; }
  std::int64_t seq_len() const override { return 4; }
  std::int32_t read(std::int64_t index, const data::Row& row) const override {
    check(index, row);
    constexpr std::array<std::int32_t, 4> kTokens{1, 2, 0, 0}, kSegments{0, 0, -1, -1};
    std::copy(kTokens.begin(), kTokens.end(), row.tokens.begin());
    std::copy(kSegments.begin(), kSegments.end(), row.segments.begin());
    std::fill(row.loss_weights.begin(), row.loss_weights.end(), 0.0F);
    return 0;
  }
};

TEST(UnigramEntropy, PaddingIsNoToken) {
  EXPECT_DOUBLE_EQ(unigram_entropy(Padded(), 10, 3), std::log(2)) << "two tokens, equally often";
}

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
