// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/square_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bora/core/kernels/cpu/threads.h"

namespace bora::kernels {
namespace {

// Irregular values over many orders of magnitude.
std::vector<float> irregular(std::size_t n) {
  std::vector<float> x(n);
  std::uint32_t state = 1;
  for (auto& v : x) {
    state = state * 1664525 + 1013904223;
    v = std::ldexp(static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F,
                   static_cast<int>(state >> 8) % 40 - 30);
  }
  return x;
}

double whole(const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  SquareSum sum(max_abs(n, x.data()));
  sum.add(n, x.data());
  return sum.value();
}

TEST(SquareSum, AgreesWithASumInLongDouble) {
  for (const std::size_t n : {1, 7, 4096, 4097, 100'003}) {
    const auto x = irregular(n);
    long double want = 0;
    for (const float v : x) want += static_cast<long double>(v) * v;
    EXPECT_NEAR(whole(x) / static_cast<double>(want), 1, 1e-15) << n;
  }
  EXPECT_EQ(whole({}), 0);
  EXPECT_EQ(whole({0, 0}), 0);
  EXPECT_EQ(whole({-3, 4}), 25);
}

TEST(SquareSum, EveryCutAndOrderGivesTheSameBits) {
  const auto x = irregular(70'001);
  const auto n = static_cast<std::int64_t>(x.size());
  const float largest = max_abs(n, x.data());
  const double want = whole(x);
  for (const std::int64_t cut : {1, 5, 4096, 33'333, 70'000}) {
    SquareSum left(largest), right(largest), total(largest);
    left.add(cut, x.data());
    right.add(n - cut, x.data() + cut);
    total += right;
    total.add(left.parts());  // as it comes from another worker
    EXPECT_EQ(total.value(), want) << cut;
  }
  SquareSum columns(largest);
  for (std::int64_t i = 0; i < n; i += 1) columns.add(1, x.data() + (i * 7919) % n);
  EXPECT_EQ(columns.value(), want);
}

TEST(SquareSum, PartsKeepTheirSign) {
  SquareSum a(1), b(1);
  const std::vector<float> small(
      3, 0x1p-21F);  // its square is half a unit, rounded to even: the rest is below zero
  const std::vector<float> odd(5, 0.7F);
  a.add(3, small.data());
  a.add(5, odd.data());
  b.add(a.parts());
  EXPECT_EQ(a.value(), b.value());
}

TEST(SquareSum, ExtremeValues) {
  const float tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();
  EXPECT_EQ(whole({tiny}), static_cast<double>(tiny) * tiny);
  EXPECT_EQ(whole({huge}), static_cast<double>(huge) * huge);
}

TEST(MaxAbs, TellsWhatIsNotFinite) {
  std::vector<float> x(100'000, 1);
  x[77'777] = -3;
  EXPECT_EQ(max_abs(100'000, x.data()), 3);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    x[50'000] = bad;
    EXPECT_FALSE(std::isfinite(max_abs(100'000, x.data())));
  }
}

}  // namespace
}  // namespace bora::kernels
