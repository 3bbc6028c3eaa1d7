// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "offsets.h"

#include "../cuda/kernels/testing.h"

namespace bora::cudnn {
namespace {

using cuda::testing::in_all_orders;
using cuda::testing::List;

// Of more documents than a block has threads, of which the last ones are empty.
TEST(CudnnOffsets, AreStartsTimesEachMultiple) {
  constexpr std::int64_t kCount = 300;
  List<std::int32_t> starts(kCount + 1);
  for (std::int64_t i = 1; i <= kCount; ++i)
    starts[i] = starts[i - 1] + (i > 250 ? 0 : static_cast<std::int32_t>(i * 7 % 41));
  const Multiples multiples{{640, 64, 6}, 3};
  List<std::int32_t> out(kCount + 3 * (kCount + 1) + 1);
  in_all_orders(
      [&] { write_offsets(kCount, starts.data(), multiples, out.data(), out.data() + kCount, nullptr); },
      out);
  for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], starts[i + 1] - starts[i]) << i;
  for (int row = 0; row < 3; ++row)
    for (std::int64_t i = 0; i <= kCount; ++i)
      ASSERT_EQ(out[kCount + row * (kCount + 1) + i], starts[i] * multiples.of[row]) << row << ", " << i;
  EXPECT_EQ(out[std::ssize(out) - 1], -1) << "nothing else is written";
}

}  // namespace
}  // namespace bora::cudnn
