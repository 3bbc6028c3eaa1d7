// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/reduce.h"

#include <limits>

#include "bora/core/kernels/cpu/simd_target.h"
#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

constexpr std::int64_t kSizes[] = {0, 1, 3, 7, 8, 15, 16, 17, 33, 1000, 16384, 16385, 100003};

TEST(Reduce, SumsAgreeWithALoop) {
  for (std::int64_t n : kSizes) {
    const Floats x = random_floats(n, 1);
    double plain = 0, squares = 0;
    for (float v : x) {
      plain += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    EXPECT_NEAR(sum(n, x.data()), plain, 1e-8) << n;
    EXPECT_NEAR(sum_of_squares(n, x.data()), squares, 1e-7) << n;
  }
}

TEST(Reduce, SumsKeepBitsAcrossThreads) {
  const Floats x = random_floats(200001, 2);
  const auto n = static_cast<std::int64_t>(x.size());
  double first = 0, first_squares = 0;
  for (int t : {1, 2, 3, 4}) {
    set_threads(t);
    if (t == 1) first = sum(n, x.data()), first_squares = sum_of_squares(n, x.data());
    EXPECT_EQ(sum(n, x.data()), first);
    EXPECT_EQ(sum_of_squares(n, x.data()), first_squares);
  }
  set_threads(2);
}

TEST(Reduce, FindsTheFirstNonFinite) {
  for (std::int64_t n : kSizes) {
    Floats x = random_floats(n, 3);
    EXPECT_EQ(first_non_finite(n, x.data()), -1);
    if (n == 0) continue;
    x[static_cast<std::size_t>(n - 1)] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(first_non_finite(n, x.data()), n - 1);
    x[static_cast<std::size_t>(n / 2)] = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(first_non_finite(n, x.data()), n / 2);
  }
}

TEST(Reduce, ElementwiseHelpers) {
  for (std::int64_t n : kSizes) {
    const Floats a = random_floats(n, 4), b = random_floats(n, 5);
    Floats c = a;
    add_into(n, c.data(), b.data());
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], a[i] + b[i]);
    scale(n, c.data(), 0.3F);
    for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], (a[i] + b[i]) * 0.3F);
    fill(n, c.data(), 2.0F);
    for (float v : c) ASSERT_EQ(v, 2.0F);
  }
}

std::uint16_t bf16(float x) {
  std::uint16_t y = 0;
  to_bf16(1, &x, &y);
  return y;
}

TEST(Reduce, Bf16RoundsToNearestEven) {
  EXPECT_EQ(bf16(1.0F), 0x3f80);
  EXPECT_EQ(bf16(1.00390625F), 0x3f80);  // half a step above 1: to even
  EXPECT_EQ(bf16(1.01171875F), 0x3f82);  // half a step above 1 + 1/128: to even, upwards
  EXPECT_EQ(bf16(1.00390637F), 0x3f81);
  EXPECT_EQ(bf16(-0.0F), 0x8000);
  EXPECT_EQ(bf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16(std::numeric_limits<float>::quiet_NaN()) & 0x7fc0, 0x7fc0);
}

TEST(Reduce, Bf16GoesThereAndBack) {
  for (std::int64_t n : kSizes) {
    const Floats x = random_floats(n, 6, 100.0F);
    std::vector<std::uint16_t> half(x.size()), again(x.size());
    Floats y(x.size());
    to_bf16(n, x.data(), half.data());
    from_bf16(n, half.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], std::abs(x[i]) / 256);
    to_bf16(n, y.data(), again.data());
    EXPECT_EQ(again, half);
  }
}

TEST(Threads, ChunksAreFixed) {
  for (int t : {1, 3}) {
    set_threads(t);
    std::vector<int> seen(1003, 0);
    for_chunks(1003, 100, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin % 100, 0);
      EXPECT_EQ(end, std::min<std::int64_t>(begin + 100, 1003));
      for (auto i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    EXPECT_THAT(seen, ::testing::Each(1));
    for_chunks(0, 100, [&](std::int64_t, std::int64_t) { ADD_FAILURE(); });
  }
  set_threads(2);
  EXPECT_EQ(threads(), 2);
  EXPECT_STRNE(simd_target(), "");
}

}  // namespace
}  // namespace bora::kernels
