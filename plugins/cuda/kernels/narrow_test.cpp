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
  for (std::int64_t i = 0; i < kCount; ++i)
    arrays.push_back({std::ssize(from[i]), pointer(from[i]), to.data() + first[i]});
  in_all_orders([&] { narrow(kCount, arrays.data(), nullptr); }, to);
  for (std::int64_t i = 0; i < kCount; ++i) {
    for (std::int64_t j = 0; j < std::ssize(from[i]); ++j)
      ASSERT_EQ(to[first[i] + j].bits, from_float<Bf16>(from[i][j]).bits) << i << ", " << j;
    if (i + 1 < kCount && first[i] + std::ssize(from[i]) < first[i + 1]) {
      EXPECT_EQ(to[first[i] + std::ssize(from[i])].bits, 0xffff) << "nothing else is written";
    }
  }
}

}  // namespace
}  // namespace bora::cuda
