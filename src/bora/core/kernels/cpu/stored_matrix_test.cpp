// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/stored_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "bora/core/kernels/cpu/rows_apart.h"
#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using i64 = std::int64_t;
using testing_arrays::expect_equal_bits;
using testing_arrays::Floats;
using testing_arrays::random_floats;

/// Random weights in one of the types, and the numbers that they stand for, by formulas of their own.
struct Weights {
  i64 outputs, inputs;
  std::vector<std::uint16_t> bf16;
  std::vector<std::int8_t> int8;
  Floats scales, wide;

  Weights(i64 n, i64 k, bool as_int8) : outputs(n), inputs(k), wide(random_floats(n * k, 5)) {
    if (!as_int8) {
      for (float& w : wide) {
        const auto bits = std::bit_cast<std::uint32_t>(w) >> 16;
        bf16.push_back(static_cast<std::uint16_t>(bits));
        w = std::bit_cast<float>(bits << 16);
      }
      return;
    }
    int8.resize(wide.size());
    scales.resize(static_cast<std::size_t>(n));
    store_int8(n, k, wide.data(), int8.data(), scales.data());
    for (std::size_t i = 0; i < wide.size(); ++i)
      wide[i] = scales[i / static_cast<std::size_t>(k)] * static_cast<float>(int8[i]);
  }
  StoredMatrix matrix() const {
    return {outputs, inputs, bf16.empty() ? nullptr : bf16.data(), int8.empty() ? nullptr : int8.data(),
            scales.data()};
  }
};

Floats product(i64 m, const Floats& a, const Weights& w) {
  Floats c(static_cast<std::size_t>(m * w.outputs));
  stored_matmul(m, {a.data(), w.inputs}, w.matrix(), c.data(), w.outputs);
  return c;
}

TEST(StoredMatrix, Int8IsTheNearestMultipleOfItsScale) {
  const i64 n = 9, k = 37;
  Floats x = random_floats(n * k, 3);
  std::fill_n(x.begin() + 2 * k, k, 0.0F);    // a row of zeros
  std::fill_n(x.begin() + 3 * k, k, 1e-45F);  // of what has no scale
  std::transform(x.begin(), x.begin() + k, x.begin(), [](float v) { return v * 1e30F; });
  std::vector<std::int8_t> q(x.size());
  Floats scales(n);
  store_int8(n, k, x.data(), q.data(), scales.data());
  for (i64 row = 0; row < n; ++row) {
    float most = 0;
    for (i64 i = 0; i < k; ++i) most = std::max(most, std::abs(x[row * k + i]));
    EXPECT_FLOAT_EQ(scales[row], row == 3 ? 0 : most / 127) << row;
    i64 greatest = 0;
    for (i64 i = 0; i < k; ++i) {
      greatest = std::max<i64>(greatest, std::abs(q[row * k + i]));
      const double off = double{x[row * k + i]} - double{scales[row]} * q[row * k + i];
      EXPECT_LE(std::abs(off), 0.5001 * scales[row] + 1e-44) << row << " " << i;
    }
    EXPECT_EQ(greatest, row == 2 || row == 3 ? 0 : 127) << row;
  }
}

/// Few rows have a kernel of their own where there are matrix units, and one of vectors.
class StoredProducts : public testing::TestWithParam<MatmulKernel> {
 protected:
  StoredProducts() { set_matmul_kernel(GetParam()); }
  ~StoredProducts() override { set_matmul_kernel(MatmulKernel::automatic); }
};
INSTANTIATE_TEST_SUITE_P(Kernels, StoredProducts,
                         testing::Values(MatmulKernel::automatic, MatmulKernel::bora), [](const auto& test) {
                           return test.param == MatmulKernel::bora ? "vectors" : "automatic";
                         });

TEST_P(StoredProducts, AreThoseOfTheNumbersThatItStandsFor) {
  for (const bool as_int8 : {false, true}) {
    for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{1, 1, 1},
                                  {1, 70, 65},
                                  {2, 3, 100},
                                  {5, 33, 96},
                                  {6, 15, 31},
                                  {7, 130, 7},
                                  {11, 48, 64},
                                  {16, 67, 768},
                                  {17, 67, 33},
                                  {70, 300, 64},
                                  {17, 200, 2100}}) {
      const Weights w(n, k, as_int8);
      const Floats a = random_floats(m * k, 4);
      const Floats got = product(m, a, w);
      for (i64 i = 0; i < m; ++i) {
        for (i64 j = 0; j < n; ++j) {
          double sum = 0, size = 0;
          for (i64 p = 0; p < k; ++p) {
            const double part = double{a[i * k + p]} * double{w.wide[j * k + p]};
            sum += part, size += std::abs(part);
          }
          ASSERT_NEAR(got[i * n + j], sum, 3e-7 * size)
              << i << " " << j << " of " << m << " " << n << " " << k;
        }
      }
    }
  }
}

TEST_P(StoredProducts, BitsDependOnNeitherThreadsNorOtherRows) {
  const i64 n = 333, k = 901;
  for (const bool as_int8 : {false, true}) {
    const Weights w(n, k, as_int8);
    for (const i64 each : {1, 3, 40}) {  // positions of a row: few, and more
      const i64 groups = 16, m = groups * each;
      const Floats a = random_floats(m * k, 6);
      const auto together = [&] {
        const i64 before = set_rows_apart(groups);
        const Floats c = product(m, a, w);
        set_rows_apart(before);
        return c;
      };
      expect_equal_bits(together);
      const Floats all = together();
      for (i64 g = 0; g < groups; ++g) {
        const Floats own(a.begin() + g * each * k, a.begin() + (g + 1) * each * k);
        const i64 before = set_rows_apart(1);
        const Floats alone = product(each, own, w);
        set_rows_apart(before);
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + g * each * n))
            << as_int8 << " " << each << " " << g;
      }
    }
  }
}

TEST(StoredMatrix, Widens) {
  for (const bool as_int8 : {false, true}) {
    const Weights w(20, 45, as_int8);
    Floats part(7 * 45);
    widen(w.matrix(), 3, 10, true, part.data());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), w.wide.begin() + 3 * 45)) << as_int8;
    widen(w.matrix(), 3, 10, false, part.data());
    EXPECT_EQ(part[0], as_int8 ? static_cast<float>(w.int8[3 * 45]) : w.wide[3 * 45]);
  }
}

}  // namespace
}  // namespace bora::kernels
