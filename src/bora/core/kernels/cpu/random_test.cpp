// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/random.h"

#include <algorithm>

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

const Key kKey = Key::from_seed(42).fold("weights");

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};
Moments moments(const Floats& x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  for (float v : x) m.mean += static_cast<double>(v) / n;
  for (float v : x) m.variance += std::pow(static_cast<double>(v) - m.mean, 2) / n;
  for (float v : x) m.skew += std::pow((static_cast<double>(v) - m.mean), 3) / n / std::pow(m.variance, 1.5);
  for (float v : x)
    m.kurtosis += std::pow((static_cast<double>(v) - m.mean), 4) / n / std::pow(m.variance, 2);
  return m;
}

using Draw = std::function<void(std::int64_t first, std::int64_t n, float* out)>;
const std::vector<std::pair<const char*, Draw>> kDraws = {
    {"uniform", [](auto first, auto n, float* out) { uniform(kKey, first, n, -1, 2, out); }},
    {"normal", [](auto first, auto n, float* out) { normal(kKey, first, n, 1, 2, out); }},
    {"truncated",
     [](auto first, auto n, float* out) { truncated_normal(kKey, first, n, -2, 2, 0.02F, out); }},
    {"dropout",
     [](auto first, auto n, float* out) {
       const Floats ones(static_cast<std::size_t>(n), 1.0F);
       dropout(kKey, first, n, 0.3F, ones.data(), out);
     }},
};

TEST(Random, AnyPartHasTheValuesOfTheWhole) {
  for (const auto& [name, draw] : kDraws) {
    SCOPED_TRACE(name);
    Floats whole(3000);
    draw(0, 3000, whole.data());
    for (std::int64_t first : {0, 1, 2, 3, 4, 63, 64, 65, 1234}) {
      for (std::int64_t n : {0, 1, 5, 64, 700}) {
        Floats part(static_cast<std::size_t>(n));
        draw(first, n, part.data());
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first)) << first << " " << n;
      }
    }
  }
}

TEST(Random, BitsDoNotDependOnThreads) {
  for (const auto& [name, draw] : kDraws) {
    SCOPED_TRACE(name);
    expect_equal_bits([&, &draw = draw] {
      Floats x(100003);
      draw(5, 100003, x.data());
      return x;
    });
  }
}

TEST(Random, WordsAreThoseOfTheKey) {
  Floats x(4000);
  uniform(kKey, 0, 4000, 0, 1, x.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t word = kKey.words(i / 4)[i % 4];
    ASSERT_EQ(x[i], static_cast<float>(word >> 8) * 0x1p-24F) << i;
  }
}

TEST(Random, BlocksCountIn64Bits) {
  const std::int64_t first = (std::int64_t{1} << 34) - 16;  // the block's low word overflows within the draw
  Floats x(64);
  uniform(kKey, first, 64, 0, 1, x.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::uint64_t>(first) + i;
    ASSERT_EQ(x[i], static_cast<float>(kKey.words(at / 4)[at % 4] >> 8) * 0x1p-24F) << i;
  }
}

TEST(Random, NormalIsBoxMullerOfTheWords) {
  Floats x(4000);
  normal(kKey, 0, 4000, 0, 1, x.data());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const auto words = kKey.words(i / 4);
    const double u = (words[i % 4] + 0.5) * 0x1p-32, angle = 2 * M_PI * words[i % 4 + 1] * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(x[i], radius * std::cos(angle), 2e-6 + 3e-8 / radius) << i;
    ASSERT_NEAR(x[i + 1], radius * std::sin(angle), 2e-6 + 3e-8 / radius) << i;
  }
}

TEST(Random, MomentsOfTheNormal) {
  Floats x(2'000'000);
  normal(kKey, 0, static_cast<std::int64_t>(x.size()), 0.5F, 2, x.data());
  const Moments m = moments(x);
  EXPECT_NEAR(m.mean, 0.5, 0.006);
  EXPECT_NEAR(m.variance, 4, 0.02);
  EXPECT_NEAR(m.skew, 0, 0.008);
  EXPECT_NEAR(m.kurtosis, 3, 0.02);
  EXPECT_GT(*std::max_element(x.begin(), x.end()), 0.5F + 2 * 4.5F);
}

TEST(Random, UniformStaysInItsBounds) {
  Floats x(100000);
  uniform(kKey, 0, 100000, 1.0F, 1.0000002F, x.data());
  for (float v : x) ASSERT_TRUE(v >= 1.0F && v < 1.0000002F);
  uniform(kKey, 0, 100000, -3, 1, x.data());
  EXPECT_NEAR(moments(x).mean, -1, 0.02);
  EXPECT_NEAR(moments(x).variance, 16.0 / 12, 0.02);
}

TEST(Random, TruncatedNormalInvertsTheDistribution) {
  for (const auto& [low, high] : {std::pair{-2.0F, 2.0F}, {-3.0F, 3.0F}, {-1.0F, 2.5F}, {0.5F, 4.0F}}) {
    Floats x(200000);
    truncated_normal(kKey, 0, 200000, low, high, 1, x.data());
    const double from = std::erf(static_cast<double>(low) / std::sqrt(2.0)),
                 to = std::erf(static_cast<double>(high) / std::sqrt(2.0));
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(x[i] >= low && x[i] <= high);
      const double u = (kKey.words(i / 4)[i % 4] + 0.5) * 0x1p-32;
      ASSERT_NEAR(std::erf(static_cast<double>(x[i]) / std::sqrt(2.0)), from + u * (to - from), 1e-6) << i;
    }
  }
}

TEST(Random, DropoutKeepsItsShareAndScales) {
  const Floats x = random_floats(100000, 7);
  Floats y(x.size());
  dropout(kKey, 0, 100000, 0.25F, x.data(), y.data());
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool keep = kKey.words(i / 4)[i % 4] >= (1U << 30);
    ASSERT_EQ(y[i], keep ? x[i] * (1 / 0.75F) : 0.0F);
    kept += keep ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(kept), 75000, 600);
  dropout(kKey, 0, 100000, 0, x.data(), y.data());
  EXPECT_EQ(y, x);
  dropout(kKey, 0, 100000, 1, x.data(), y.data());
  EXPECT_THAT(y, ::testing::Each(0.0F));
}

TEST(Random, FirstValuesNeverChange) {
  const Key key{.key = 0x0123456789abcdef, .stream = 0xfedcba9876543210};
  Floats x(4), y(4);
  uniform(key, 0, 4, 0, 1, x.data());
  normal(key, 0, 4, 0, 1, y.data());
  const Floats uniforms = {0.683390439F, 0.963307917F, 0.237964869F, 0.537938535F};
  const Floats normals = {0.84948355F, -0.199387595F, -1.64656556F, -0.400107235F};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(x[i], uniforms[i]);
    EXPECT_NEAR(y[i], normals[i], 2e-7);  // instruction sets without FMA round differently
  }
}

}  // namespace
}  // namespace bora::kernels
