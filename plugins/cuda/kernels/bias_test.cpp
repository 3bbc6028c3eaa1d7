// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bias.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

template <class T>
void adds_up(std::int64_t rows, std::int64_t n, std::int64_t stride) {
  const auto x = random<T>(rows * stride, static_cast<unsigned>(rows + n), 2);
  List<float> out(n, NAN);
  const Bias<T> a{rows, n, pointer(x), stride, out.data()};
  in_all_orders([&] { bias_gradient(a, nullptr); }, out);
  for (std::int64_t i = 0; i < n; ++i) {
    double want = 0, size = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      want += to_float(x[r * stride + i]);
      size += std::abs(to_float(x[r * stride + i]));
    }
    ASSERT_NEAR(out[i], want, 1e-6 * size) << rows << " x " << n << " by " << stride << ": column " << i;
  }
}

// One row and many, parts of blocks, of warps and of packs, and rows that packs do not begin at.
TEST(CudaBias, IsTheSumOfTheRows) {
  for (const std::int64_t rows : {1, 7, 255, 256, 257, 2049})
    for (const std::int64_t n : {1, 8, 13, 16, 40, 100}) {
      adds_up<float>(rows, n, n);
      adds_up<Bf16>(rows, n, n + n % 3 * 8);
    }
  adds_up<Bf16>(100, 72, 75);
}

TEST(CudaBias, OfNoRowsIsZero) {
  List<float> out(5, 3);
  bias_gradient(Bias<float>{0, 5, nullptr, 5, out.data()}, nullptr);
  EXPECT_EQ(out, List<float>(5, 0));
}

}  // namespace
}  // namespace bora::cuda
