// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/cross_entropy.h"

#include <limits>

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

TEST(CrossEntropy, AgreesWithDoublePrecision) {
  for (std::int64_t vocab : {1, 2, 7, 16, 100, 5003}) {
    for (float z_loss : {0.0F, 0.01F}) {
      const std::int64_t rows = 5, stride = vocab + 3;
      const Floats x = random_floats(rows * stride, 1, 20.0F);
      std::vector<std::int32_t> targets = {0, static_cast<std::int32_t>(vocab - 1), -1, 0,
                                           static_cast<std::int32_t>(vocab / 2)};
      const Floats weights = {1.0F, 0.25F, 1.0F, 0.0F, 2.0F};
      Floats logits = x, loss(5), lse(5);
      cross_entropy(rows, vocab, logits.data(), stride, targets.data(), weights.data(), z_loss, loss.data(),
                    lse.data(), true);
      for (std::size_t i = 0; i < 5; ++i) {
        const float* row = x.data() + i * static_cast<std::size_t>(stride);
        double total = 0;
        for (std::int64_t j = 0; j < vocab; ++j) total += std::exp(static_cast<double>(row[j]));
        const double log_total = std::log(total), w = targets[i] < 0 ? 0 : static_cast<double>(weights[i]);
        EXPECT_NEAR(lse[i], log_total, 2e-6 * (1 + std::abs(log_total)));
        EXPECT_NEAR(loss[i], targets[i] < 0 ? 0 : log_total - static_cast<double>(row[targets[i]]), 1e-5);
        Floats actual;
        std::vector<double> expected;
        for (std::int64_t j = 0; j < vocab; ++j) {
          const double p = std::exp(static_cast<double>(row[j]) - log_total);
          actual.push_back(logits[i * static_cast<std::size_t>(stride) + static_cast<std::size_t>(j)]);
          expected.push_back(
              w * ((1 + 2 * static_cast<double>(z_loss) * log_total) * p - (j == targets[i] ? 1 : 0)));
        }
        expect_close(actual, expected, 5e-6, 1e-6);
      }
      for (std::size_t i = 0; i < 5; ++i) {  // what lies between the rows is not touched
        const std::size_t gap = i * static_cast<std::size_t>(stride) + static_cast<std::size_t>(vocab);
        EXPECT_EQ(logits[gap], x[gap]);
      }
    }
  }
}

TEST(CrossEntropy, HeadMapsAgreeWithDoublePrecision) {
  for (std::int64_t vocab : {1, 7, 100, 5003}) {
    const Floats x = random_floats(3 * vocab, 4, 20.0F), bias = random_floats(vocab, 5, 2.0F);
    const std::vector<std::int32_t> targets = {0, -1, static_cast<std::int32_t>(vocab - 1)};
    const Floats weights = {1.0F, 1.0F, 0.25F};
    const float scale = 0.5F, z_loss = 0.01F;
    for (const float cap : {0.0F, 15.0F}) {
      const HeadMap map{scale, cap, bias.data()};
      Floats out = x, loss(3), lse(3);
      cross_entropy(3, vocab, out.data(), vocab, targets.data(), weights.data(), z_loss, loss.data(),
                    lse.data(), true, map);
      for (std::size_t i = 0; i < 3; ++i) {
        std::vector<double> logits, slopes, expected;
        double total = 0;
        for (std::size_t j = 0; j < bias.size(); ++j) {
          const double y = 0.5 * static_cast<double>(x[i * bias.size() + j]) + static_cast<double>(bias[j]);
          const double t = std::tanh(y / 15);
          logits.push_back(cap == 0 ? y : 15 * t);
          slopes.push_back(0.5 * (cap == 0 ? 1 : 1 - t * t));
          total += std::exp(logits.back());
        }
        const double log_total = std::log(total), w = targets[i] < 0 ? 0 : static_cast<double>(weights[i]);
        for (std::size_t j = 0; j < bias.size(); ++j) {
          const double p = std::exp(logits[j] - log_total);
          expected.push_back(slopes[j] * w *
                             ((1 + 0.02 * log_total) * p - (static_cast<std::int32_t>(j) == targets[i])));
        }
        EXPECT_NEAR(lse[i], log_total, 3e-6 * (1 + std::abs(log_total)));
        if (targets[i] >= 0) {
          EXPECT_NEAR(loss[i], log_total - logits[static_cast<std::size_t>(targets[i])], 2e-5);
        }
        const auto row = out.begin() + static_cast<std::ptrdiff_t>(i * bias.size());
        expect_close(Floats(row, row + vocab), expected, 2e-5, 1e-6);
      }
    }
  }
}

TEST(CrossEntropy, ColumnsAreSummedAndScaled) {
  for (std::int64_t columns : {1, 13, 1024, 2500}) {
    const Floats x = random_floats(9 * columns, 6);
    Floats sums(static_cast<std::size_t>(columns), 1.0F);
    add_column_sums(9, columns, x.data(), 2.0F, sums.data());
    std::vector<double> expected(sums.size(), 1.0);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i % sums.size()] += 2 * static_cast<double>(x[i]);
    expect_close(sums, expected, 1e-6, 4e-6);
  }
}

TEST(CrossEntropy, WithoutGradientTheLogitsStay) {
  const Floats x = random_floats(3 * 50, 2);
  const std::int32_t targets[] = {1, 2, -1};
  const Floats weights(3, 1.0F);
  Floats logits = x, loss(3), lse(3), other = x, other_loss(3), other_lse(3);
  cross_entropy(3, 50, logits.data(), 50, targets, weights.data(), 0, loss.data(), lse.data(), false);
  cross_entropy(3, 50, other.data(), 50, targets, weights.data(), 0, other_loss.data(), other_lse.data(),
                true);
  EXPECT_EQ(logits, x);
  EXPECT_EQ(loss, other_loss);
  EXPECT_EQ(lse, other_lse);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflowAndNanShows) {
  const std::int32_t target = 0;
  const float weight = 1;
  Floats logits = {1000, -1000, 999}, loss(1), lse(1);
  cross_entropy(1, 3, logits.data(), 3, &target, &weight, 0, loss.data(), lse.data(), true);
  EXPECT_NEAR(loss[0], std::log(1 + std::exp(-1.0)), 1e-6);
  logits = {1, std::numeric_limits<float>::quiet_NaN(), 2};
  cross_entropy(1, 3, logits.data(), 3, &target, &weight, 0, loss.data(), lse.data(), true);
  EXPECT_TRUE(std::isnan(loss[0]));
}

TEST(CrossEntropy, BitsDoNotDependOnThreads) {
  const Floats x = random_floats(31 * 1001, 3, 5.0F);
  std::vector<std::int32_t> targets(31);
  for (int i = 0; i < 31; ++i) targets[static_cast<std::size_t>(i)] = i * 30;
  const Floats weights(31, 0.5F);
  expect_equal_bits([&] {
    Floats logits = x, loss(31), lse(31);
    cross_entropy(31, 1001, logits.data(), 1001, targets.data(), weights.data(), 1e-4F, loss.data(),
                  lse.data(), true);
    return join({logits, loss, lse});
  });
}

// As one row whose greatest logit is said to be 0: every kernel has this exponential.
Floats exponentials(Floats x) {
  const float most = 0;
  double total = 0;
  row_exponentials(1, static_cast<std::int64_t>(x.size()), x.data(), &most, &total);
  return x;
}

TEST(CrossEntropy, ExponentialIsWithinTwoUlp) {
  Floats x;
  for (double v = -87.3; v < 88.3; v += 0.0137) x.push_back(static_cast<float>(v));
  const Floats y = exponentials(x);
  std::vector<double> expected;
  for (float v : x) expected.push_back(std::exp(static_cast<double>(v)));
  expect_close(y, expected, 1.8e-7, 0);
}

TEST(CrossEntropy, ExtremesOfTheExponential) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Floats x = {-inf, -1000, -88, 0, 89, 1000, inf, nan};
  const Floats y = exponentials(x);
  EXPECT_THAT(Floats(y.begin(), y.end() - 1), ::testing::ElementsAre(0, 0, 0, 1, inf, inf, inf));
  EXPECT_TRUE(std::isnan(y[7]));
}

}  // namespace
}  // namespace bora::kernels
