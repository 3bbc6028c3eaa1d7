// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "sums.h"

#include <limits>

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

__extension__ using Int128 = __int128;

constexpr std::int64_t kSizes[] = {1, 9, 16384, 50'001};

TEST(CudaSums, AddIntoIsOneAdditionForEach) {
  for (const auto n : kSizes) {
    const auto x = random<float>(n, 1), y = random<float>(n, 2, 1e-3F);
    List<float> sum;
    in_all_orders(
        [&] {
          sum = x;
          const kernels::Added one{n, sum.data(), y.data()};
          add_into(1, &one, nullptr);
        },
        sum);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], x[i] + y[i]);
  }
}

// Of what was there before, NaN too, nothing is left.
TEST(CudaSums, AddIntoStores) {
  for (const auto n : kSizes) {
    const auto y = random<float>(n, 2, 1e-3F);
    List<float> stored;
    in_all_orders(
        [&] {
          stored.assign(y.size(), std::numeric_limits<float>::quiet_NaN());
          const kernels::Added one{n, stored.data(), y.data(), true};
          add_into(1, &one, nullptr);
        },
        stored);
    EXPECT_EQ(stored, y);
  }
}

float largest_of(const List<float>& x) {
  List<float> out(1);
  for (const auto order : {host::Order::shuffled, host::Order::forward}) {
    host::set_order(order);
    out[0] = 0;
    const kernels::Measured one{std::ssize(x), x.data(), out.data(), nullptr};
    max_abs(1, &one, nullptr);
  }
  return out[0];
}

TEST(CudaSums, MaxAbs) {
  for (const auto n : kSizes) {
    auto x = random<float>(n, 3);
    for (float& v : x) v *= 0.5F;
    x[n / 2] = -0.75F;
    EXPECT_EQ(largest_of(x), 0.75F);
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
      x[n / 3] = bad;
      EXPECT_TRUE(std::isnan(largest_of(x)));
    }
  }
  EXPECT_EQ(largest_of(List<float>(5)), 0);
  EXPECT_EQ(largest_of({}), 0);
}

// Each square rounded to a multiple of 2^-80 of the largest, added in whole numbers.
TEST(CudaSums, SquareNumbersAreExact) {
  for (const auto n : kSizes) {
    auto x = random<float>(n, 4, 2.5F);
    for (std::int64_t i = 0; i < n; i += 3) x[i] *= 1e-6F;
    float largest = largest_of(x);
    List<double> out(4);
    in_all_orders(
        [&] {
          out.assign(4, 0);
          const kernels::Measured one{n, x.data(), &largest, out.data()};
          square_numbers(1, &one, nullptr);
        },
        out);
    int exponent = 0;
    std::frexp(static_cast<double>(largest), &exponent);
    Int128 want = 0;  // in units of 2^-80
    for (const float v : x) {
      const double scaled = std::ldexp(static_cast<double>(v), -exponent);
      const double square = scaled * scaled, high = std::nearbyint(square * 0x1p40) * 0x1p-40;
      want += (static_cast<Int128>(high * 0x1p40) << 40) +
              static_cast<Int128>(std::nearbyint((square - high) * 0x1p80));
    }
    const auto whole = [&](int i) {
      return static_cast<Int128>(out[i]) * (1 << 30) + static_cast<Int128>(out[i + 1]);
    };
    EXPECT_TRUE((whole(0) << 40) + whole(2) == want) << n << " elements";
  }
}

// More arrays than a launch takes, some without elements: what each gives alone.
TEST(CudaSums, OfManyArrays) {
  constexpr std::int64_t kCount = 150;
  List<List<float>> x, y;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t n = i % 60 == 5 ? 20'001 : i * 7 % 31;
    x.push_back(random<float>(n, static_cast<unsigned>(i), 2));
    y.push_back(random<float>(n, static_cast<unsigned>(i + 1000)));
  }
  List<float> largest(kCount), alone(kCount);
  List<double> numbers(4 * kCount), numbers_alone(4 * kCount);
  List<kernels::Measured> arrays;
  for (std::int64_t i = 0; i < kCount; ++i) {
    arrays.push_back({std::ssize(x[i]), pointer(x[i]), &largest[i], &numbers[4 * i]});
    const kernels::Measured one{std::ssize(x[i]), pointer(x[i]), &alone[i], &numbers_alone[4 * i]};
    max_abs(1, &one, nullptr);
    square_numbers(1, &one, nullptr);
  }
  max_abs(kCount, arrays.data(), nullptr);
  square_numbers(kCount, arrays.data(), nullptr);
  EXPECT_EQ(largest, alone);
  EXPECT_EQ(numbers, numbers_alone);
  auto sums = x;
  List<kernels::Added> pairs;
  for (std::int64_t i = 0; i < kCount; ++i)
    pairs.push_back({std::ssize(x[i]), pointer(sums[i]), pointer(y[i])});
  add_into(kCount, pairs.data(), nullptr);
  for (std::int64_t i = 0; i < kCount; ++i)
    for (std::size_t k = 0; k < x[i].size(); ++k) ASSERT_EQ(sums[i][k], x[i][k] + y[i][k]);
}

}  // namespace
}  // namespace bora::cuda
