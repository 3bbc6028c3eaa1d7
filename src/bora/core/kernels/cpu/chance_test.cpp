// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/chance.h"

#include <bit>
#include <limits>

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

using Halfs = std::vector<std::uint16_t>;

Halfs rounded(const Floats& x, Half half, const Rounding& rounding) {
  Halfs y(x.size());
  by_chance(static_cast<std::int64_t>(x.size()), x.data(), y.data(), half, rounding);
  return y;
}

float wide_of(std::uint16_t y) { return std::bit_cast<float>(static_cast<std::uint32_t>(y) << 16); }

// Between 1 and 1 + 2^-7: up in a quarter of all cases where it lies a quarter above.
TEST(ByChance, TheMeanIsTheNumber) {
  for (const Half half : {Half::low, Half::high}) {
    for (const double part : {0.25, 0.5, 0.9}) {
      for (const float sign : {1.0F, -1.0F}) {
        const std::int64_t n = 200000;
        const auto x = sign * static_cast<float>(1 + part * 0x1p-7);
        double up = 0;
        for (const auto y : rounded(Floats(static_cast<std::size_t>(n), x), half, {1, 2})) {
          const float got = sign * wide_of(y);
          ASSERT_TRUE(got == 1 || got == 1 + 0x1p-7F) << got;
          up += got != 1 ? 1 : 0;
        }
        EXPECT_NEAR(up / static_cast<double>(n), part,
                    4 * std::sqrt(part * (1 - part) / static_cast<double>(n)));
      }
    }
  }
}

TEST(ByChance, WhatIsBf16StaysAndSoDoesWhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity(), low_nan = std::bit_cast<float>(0x7f800001U);
  const Floats x = {0, -0.0F, 1, -1.5F, 0x1p-130F, inf, -inf, low_nan};
  const auto y = rounded(x, Half::low, {3, 4});
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(wide_of(y[i])), std::bit_cast<std::uint32_t>(x[i])) << i;
  EXPECT_TRUE(std::isnan(wide_of(y.back())));
}

// Both halves of the words of the whole array, whatever the threads and shards.
TEST(ByChance, AShardHasTheBitsOfTheWhole) {
  const std::int64_t rows = 150, columns = 301, n = rows * columns;
  const Floats x = random_floats(n, 5);
  const Key key = Key::from_seed(9);
  const auto all = rounded(x, Half::high, {key.key, key.stream});
  EXPECT_NE(all, rounded(x, Half::low, {key.key, key.stream}));
  EXPECT_NE(all, rounded(x, Half::high, {key.key, key.stream + 1}));
  for (std::int64_t i = 0; i < n; i += 97) {
    const auto word = key.words(static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
    const auto bits = std::bit_cast<std::uint32_t>(x[static_cast<std::size_t>(i)]);
    EXPECT_EQ(all[static_cast<std::size_t>(i)], (bits + (word >> 16)) >> 16);
  }
  // Columns 100 to 200, and of those rows 50 to 100.
  Rounding cut{key.key, key.stream, {1, {{100, columns, 100}}}};
  Floats some;
  Halfs want;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 100; c < 200; ++c) {
      some.push_back(x[static_cast<std::size_t>(r * columns + c)]);
      want.push_back(all[static_cast<std::size_t>(r * columns + c)]);
    }
  }
  EXPECT_EQ(rounded(some, Half::high, cut), want);
  cut.index = {2, {{50 * 100, rows * 100, 50 * 100}, {100, columns, 100}}};
  some = Floats(some.begin() + 5000, some.begin() + 10000);
  want = Halfs(want.begin() + 5000, want.begin() + 10000);
  EXPECT_EQ(rounded(some, Half::high, cut), want);
  expect_equal_bits([&] {
    Floats out;
    for (const auto y : rounded(x, Half::high, {key.key, key.stream})) out.push_back(wide_of(y));
    return out;
  });
}

}  // namespace
}  // namespace bora::kernels
