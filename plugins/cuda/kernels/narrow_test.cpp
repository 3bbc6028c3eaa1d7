// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "narrow.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

// More arrays than a launch takes, of sizes of parts of blocks and beyond, some without elements.
TEST(CudaNarrow, RoundsEachArray) {
  constexpr std::int64_t kCount = 250;
  List<List<float>> from;
  List<std::int64_t> first;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t n = i % 50 == 7 ? 5000 + i : i * 7 % 41;
    from.push_back(random<float>(n, static_cast<unsigned>(i), 3));
    first.push_back(total);
    total += n + i % 3;  // some begin where packs do not
  }
  List<Bf16> to(total);
  List<kernels::Narrowed> arrays;
  List<float> largest(kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    arrays.push_back({std::ssize(from[i]), pointer(from[i]), to.data() + first[i],
                      i % 4 == 1 ? nullptr : largest.data() + i});
  in_all_orders(
      [&] {
        std::ranges::fill(largest, 0);
        narrow(kCount, arrays.data(), nullptr);
      },
      to, largest);
  for (std::int64_t i = 0; i < kCount; ++i) {
    for (std::int64_t j = 0; j < std::ssize(from[i]); ++j)
      ASSERT_EQ(to[first[i] + j].bits, from_float<Bf16>(from[i][j]).bits) << i << ", " << j;
    const auto begin = to.begin() + first[i];
    const List<Bf16> rounded(begin, begin + std::ssize(from[i]));
    EXPECT_EQ(largest[i], i % 4 == 1 ? 0 : largest_in(rounded)) << i << ": asked for in part";
    if (i + 1 < kCount && first[i] + std::ssize(from[i]) < first[i + 1]) {
      EXPECT_EQ(to[first[i] + std::ssize(from[i])].bits, 0xffff) << "nothing else is written";
    }
  }
}

TEST(CudaNarrow, TheLargestIsNanWhereOneIsNotFinite) {
  // the last one is beyond bf16 when it is rounded
  for (const float bad : {INFINITY, -INFINITY, std::nanf(""), 3.4e38F}) {
    auto x = random<float>(5000, 1);
    x[4321] = bad;
    List<Bf16> y(5000);
    List<float> largest(2);
    const kernels::Narrowed arrays[] = {{5000, x.data(), y.data(), &largest[0]},
                                        {4000, x.data(), y.data(), &largest[1]}};
    narrow(2, arrays, nullptr);
    EXPECT_TRUE(std::isnan(largest[0])) << bad;
    y.resize(4000);
    EXPECT_EQ(largest[1], largest_in(y));
  }
}

}  // namespace
}  // namespace bora::cuda
