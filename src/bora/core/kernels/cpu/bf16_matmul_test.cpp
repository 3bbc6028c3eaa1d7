// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/bf16_matmul.h"

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "bora/core/kernels/cpu/amx_matmul.h"
#include "bora/core/kernels/cpu/bora_matmul.h"
#include "bora/core/kernels/cpu/reduce.h"
#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;
using i64 = std::int64_t;

/// One side, as bfloat16s and as the fp32 numbers that they are; rows wider apart than they are long.
struct Side {
  Side(i64 rows, i64 columns, bool turned, std::uint64_t seed)
      : stride((turned ? rows : columns) + 5), transposed(turned) {
    const Floats any = random_floats((turned ? columns : rows) * stride, seed);
    halves.resize(any.size());
    wide.resize(any.size());
    to_bf16(static_cast<i64>(any.size()), any.data(), halves.data());
    from_bf16(static_cast<i64>(any.size()), halves.data(), wide.data());
  }
  MatrixRef floats() const { return {wide.data(), stride, transposed, true}; }
  MatrixRef memory() const { return matrix_of_halves(halves.data(), stride, transposed); }
  double at(i64 i, i64 j) const {
    return static_cast<double>(wide[static_cast<std::size_t>(transposed ? j * stride + i : i * stride + j)]);
  }

  i64 stride;
  bool transposed;
  std::vector<std::uint16_t> halves;
  Floats wide;
};

struct PairProduct {
  const char* name;
  decltype(&bf16_matmul) product;
  bool (*works)();
};

/// Both kernels for two sides of bfloat16s.
class Bf16Matmul : public testing::TestWithParam<PairProduct> {
 protected:
  void SetUp() override {
    if (!GetParam().works()) GTEST_SKIP() << "this CPU has none, or BORA_CPU_TARGET caps it";
  }
  decltype(&bf16_matmul) product = GetParam().product;
};
INSTANTIATE_TEST_SUITE_P(Kernels, Bf16Matmul,
                         testing::Values(PairProduct{"vectors", &bf16_matmul, &bf16_matmul_works},
                                         PairProduct{"matrix_units", &amx_matmul, &amx_matmul_works}),
                         [](const auto& kernel) { return kernel.param.name; });

TEST_P(Bf16Matmul, AgreesWithDoublePrecision) {
  for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{1, 1, 1},
                                {3, 5, 7},
                                {8, 48, 32},
                                {17, 33, 31},
                                {97, 65, 50},
                                {40, 300, 400},
                                {100, 20, 801},
                                {20, 10, 3500},
                                {600, 257, 300},
                                {9, 14000, 33}}) {
    for (int layout = 0; layout < 4; ++layout) {
      const Side a(m, k, layout & 1, 1), b(k, n, layout & 2, 2);
      const i64 stride = n + 2;
      const Floats before = random_floats(m * stride, 3);
      for (const float beta : {0.0F, 1.0F, 0.5F}) {
        Floats c = before, of_memory = before;
        product(m, n, k, a.floats(), b.floats(), c.data(), stride, {beta});
        std::vector<double> expected(before.begin(), before.end());
        for (i64 i = 0; i < m; ++i) {
          for (i64 j = 0; j < n; ++j) {
            double& sum = expected[static_cast<std::size_t>(i * stride + j)];
            sum *= static_cast<double>(beta);
            for (i64 p = 0; p < k; ++p) sum += a.at(i, p) * b.at(p, j);
          }
        }
        SCOPED_TRACE(testing::Message() << m << " " << n << " " << k << " " << layout << " " << beta);
        expect_close(c, expected, 1e-5, 2e-6 * std::sqrt(static_cast<double>(k)) + 1e-7);
        product(m, n, k, a.memory(), b.floats(), of_memory.data(), stride, {beta});
        EXPECT_TRUE(of_memory == c);
        of_memory = before;
        product(m, n, k, a.floats(), b.memory(), of_memory.data(), stride, {beta});
        EXPECT_TRUE(of_memory == c);
        of_memory = before;
        product(m, n, k, a.memory(), b.memory(), of_memory.data(), stride, {beta});
        EXPECT_TRUE(of_memory == c);
      }
    }
  }
}

TEST_P(Bf16Matmul, BitsDependOnNeitherThreadsNorOtherRowsNorColumns) {
  const i64 m = 600, n = 333, k = 900;
  const Side a(m, k, false, 1), b(k, n, true, 2);
  const auto run = [&](i64 rows, i64 columns) {
    Floats c(static_cast<std::size_t>(rows * columns));
    product(rows, columns, k, a.memory(), b.memory(), c.data(), columns, {});
    return c;
  };
  expect_equal_bits([&] { return run(m, n); });
  const Floats all = run(m, n);
  for (const i64 rows : {1, 7, 8, 50, 384, 385, 513}) {
    for (const i64 columns : {1, 16, 65, 256, 333}) {
      const Floats some = run(rows, columns);
      for (i64 i = 0; i < rows; ++i) {
        for (i64 j = 0; j < columns; ++j) {
          ASSERT_EQ(some[static_cast<std::size_t>(i * columns + j)], all[static_cast<std::size_t>(i * n + j)])
              << rows << " " << columns << " " << i << " " << j;
        }
      }
    }
  }
}

// Elements that are fp32 count as the nearest bfloat16s.
TEST_P(Bf16Matmul, RoundsWhatIsNotOne) {
  const i64 m = 70, n = 40, k = 100;
  const Floats x = random_floats(m * k, 4);
  std::vector<std::uint16_t> nearest(x.size());
  to_bf16(m * k, x.data(), nearest.data());
  for (const bool transposed : {false, true}) {
    const i64 stride = transposed ? m : k;
    const Side b(k, n, false, 5);
    Floats c(m * n), of_nearest(m * n);
    product(m, n, k, {x.data(), stride, transposed, true}, b.floats(), c.data(), n, {});
    product(m, n, k, matrix_of_halves(nearest.data(), stride, transposed), b.floats(), of_nearest.data(), n,
            {});
    EXPECT_EQ(c, of_nearest);
  }
}

// Whatever the kernel, and however few the rows, bfloat16s in memory are the numbers that they are.
TEST(Matmul, ReadsBfloat16sInMemory) {
  for (const MatmulKernel kernel : {MatmulKernel::automatic, MatmulKernel::bora, MatmulKernel::mkl}) {
    set_matmul_kernel(kernel);
    for (const i64 m : {1, 5, 70, 200}) {
      for (int layout = 0; layout < 4; ++layout) {
        const i64 n = 65, k = 130;
        const Side a(m, k, layout & 1, 6), b(k, n, layout & 2, 7);
        const auto run = [&](const MatrixRef& left, const MatrixRef& right) {
          Floats c(static_cast<std::size_t>(m * n));
          matmul(m, n, k, left, right, c.data(), n);
          return c;
        };
        const Floats want = run(a.floats(), b.floats());
        EXPECT_TRUE(run(a.memory(), b.memory()) == want) << m << " " << layout;
        EXPECT_TRUE(run(a.floats(), b.memory()) == want) << m << " " << layout;
        EXPECT_TRUE(run(a.memory(), b.floats()) == want) << m << " " << layout;
      }
    }
  }
  set_matmul_kernel(MatmulKernel::automatic);
}

TEST(Matmul, InPairsIsForTwoSidesOfBfloat16Alone) {
  if (!bf16_matmul_works()) GTEST_SKIP() << "this CPU has no AVX512-BF16, or BORA_CPU_TARGET caps it";
  if (amx_matmul_works()) GTEST_SKIP() << "the matrix units are faster";
  const i64 m = 128, n = 64, k = 96;
  const Side a(m, k, false, 8), b(k, n, true, 9);
  const auto run = [&](auto product, bool left, bool right) {
    auto x = a.floats(), y = b.floats();
    x.is_bf16 = left;
    y.is_bf16 = right;
    Floats c(m * n);
    product(m, n, k, x, y, c.data(), n, {});
    return c;
  };
  const Floats in_pairs = run(bf16_matmul, true, true), one_by_one = run(bora_matmul, true, true);
  ASSERT_NE(in_pairs, one_by_one);
  EXPECT_EQ(run(matmul, true, true), in_pairs);
  EXPECT_EQ(run(matmul, false, true), one_by_one);
  EXPECT_EQ(run(matmul, true, false), one_by_one);
  EXPECT_EQ(run(matmul, false, false), one_by_one);
}

}  // namespace
}  // namespace bora::kernels
