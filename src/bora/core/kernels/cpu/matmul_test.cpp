// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/matmul.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "bora/core/kernels/cpu/amx_matmul.h"
#include "bora/core/kernels/cpu/bf16_matmul.h"
#include "bora/core/kernels/cpu/bora_matmul.h"
#include "bora/core/kernels/cpu/few_rows.h"
#include "bora/core/kernels/cpu/rows_apart.h"
#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;
using i64 = std::int64_t;
using Product = void (*)(i64, i64, i64, MatrixRef, MatrixRef, float*, i64, Store);

/// Operands with strides wider than their rows.
struct Operands {
  Operands(i64 m, i64 n, i64 k, bool at, bool bt)
      : a_data(random_floats((at ? k : m) * ((at ? m : k) + 3), 1)),
        b_data(random_floats((bt ? n : k) * ((bt ? k : n) + 5), 2)),
        a{a_data.data(), (at ? m : k) + 3, at},
        b{b_data.data(), (bt ? k : n) + 5, bt} {}
  Floats a_data, b_data;
  MatrixRef a, b;
};

double element(const MatrixRef& x, i64 i, i64 j) {
  return static_cast<double>(x.transposed ? x.data[j * x.stride + i] : x.data[i * x.stride + j]);
}

void check(Product product, i64 m, i64 n, i64 k, float beta) {
  for (int layout = 0; layout < 4; ++layout) {
    const Operands o(m, n, k, layout & 1, layout & 2);
    const i64 stride = n + 2;
    const Floats before = random_floats(m * stride, 3);
    Floats c = before;
    product(m, n, k, o.a, o.b, c.data(), stride, {beta});
    std::vector<double> expected(before.begin(), before.end());
    for (i64 i = 0; i < m; ++i) {
      for (i64 j = 0; j < n; ++j) {
        double sum = static_cast<double>(beta) * expected[static_cast<std::size_t>(i * stride + j)];
        for (i64 p = 0; p < k; ++p) sum += element(o.a, i, p) * element(o.b, p, j);
        expected[static_cast<std::size_t>(i * stride + j)] = sum;
      }
    }
    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) + " " +
                 std::to_string(layout));
    expect_close(c, expected, 1e-5, 2e-6 * std::sqrt(static_cast<double>(k)) + 1e-7);
  }
}

/// The products that this CPU has.
std::vector<Product> products() {
  std::vector<Product> all = {&matmul, &bora_matmul};
  if (amx_matmul_works()) all.push_back(&amx_matmul);
  return all;
}

std::vector<MatmulKernel> kernels() {
  std::vector<MatmulKernel> all = {MatmulKernel::mkl, MatmulKernel::bora};
  if (amx_matmul_works()) all.push_back(MatmulKernel::amx);
  return all;
}

TEST(Matmul, AgreesWithDoublePrecision) {
  for (Product product : products()) {
    for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{1, 1, 1},
                                  {1, 40, 20},
                                  {3, 5, 7},
                                  {12, 32, 16},
                                  {13, 33, 17},
                                  {97, 65, 50},
                                  {40, 300, 400},
                                  {60, 70, 450},
                                  {100, 20, 800},
                                  {5, 600, 3},
                                  {200, 7, 33}}) {
      check(product, m, n, k, 0.0F);
    }
    check(product, 50, 70, 500, 1.0F);
    check(product, 50, 70, 5, 0.5F);
    check(product, 30, 40, 0, 0.0F);
  }
}

TEST(Matmul, MoreThanIsPackedAtOnce) {  // in k, in columns, in rows
  for (Product product : products()) {
    check(product, 10, 20, 3500, 0.0F);
    check(product, 4, 14000, 160, 1.0F);
    check(product, 7000, 3, 160, 0.0F);
  }
  if (amx_matmul_works()) check(&amx_matmul, 300, 270, 1800, 1.0F);
}

TEST(Matmul, BitsDependOnNeitherThreadsNorOtherRows) {
  const i64 m = 130, n = 333, k = 900;
  const Operands o(m, n, k, false, true);
  std::vector<Product> own = products();
  own.erase(own.begin());  // matmul itself chooses by the number of rows
  for (Product product : own) {
    const auto run = [&](i64 rows) {
      Floats c(static_cast<std::size_t>(m * n));
      product(rows, n, k, o.a, o.b, c.data(), n, {});
      return c;
    };
    expect_equal_bits([&] { return run(m); });
    const Floats all = run(m);
    for (i64 rows : {1, 2, 5, 12, 50}) {
      const Floats some = run(rows);
      EXPECT_TRUE(std::equal(some.begin(), some.begin() + rows * n, all.begin())) << rows;
    }
  }
}

// Few rows are packed and multiplied column by column of tasks, many in blocks of both: the sums are the same.
TEST(Matmul, FewTasksHaveTheBitsOfMany) {
  const i64 m = 600, n = 333, k = 900;
  const Operands o(m, n, k, false, true);
  std::vector<Product> own = products();
  own.erase(own.begin());
  for (Product product : own) {
    Floats all(static_cast<std::size_t>(m * n));
    product(m, n, k, o.a, o.b, all.data(), n, {});
    for (i64 rows : {100, 384, 385, 512, 513}) {
      Floats some(static_cast<std::size_t>(rows * n));
      product(rows, n, k, o.a, o.b, some.data(), n, {});
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << rows;
    }
  }
}

// A right side that holds bfloat16 values needs half of the products of parts; the others would add zeros. Values that
// lie in memory as bfloat16s are packed from there.
TEST(AmxMatmul, LeavesOutWhatAddsNothing) {
  if (!amx_matmul_works()) GTEST_SKIP() << "a CPU without AMX";
  const i64 m = 70, n = 333, k = 909;
  for (const bool transposed : {true, false}) {
    Operands o(m, n, k, false, transposed);
    std::vector<std::uint16_t> halves;
    for (float& x : o.b_data) {
      const auto bits = std::bit_cast<std::uint32_t>(x);
      halves.push_back(static_cast<std::uint16_t>(bits >> 16U));
      x = std::bit_cast<float>(bits & 0xffff0000U);
    }
    const auto run = [&](const MatrixRef& b) {
      Floats c(static_cast<std::size_t>(m * n));
      amx_matmul(m, n, k, o.a, b, c.data(), n, {});
      return c;
    };
    MatrixRef b = o.b;
    const Floats six = run(b);
    b.is_bf16 = true;
    EXPECT_EQ(run(b), six);
    EXPECT_EQ(run(matrix_of_halves(halves.data(), b.stride, transposed)), six);
  }
}

// Whole tiles of one stretch of k go past the caches, all others the usual way.
TEST(Matmul, WhatGoesPastTheCachesHasTheSameBits) {
  const i64 m = 130;
  for (const i64 n : {64, 80, 333})
    for (const i64 k : {40, 768, 800, 1600})
      for (const bool is_bf16 : {false, true})
        for (const i64 stride : {n, n + 16}) {
          Operands o(m, n, k, true, false);
          o.a.is_bf16 = o.b.is_bf16 = is_bf16;
          const auto run = [&](const Store& store) {
            Floats c(static_cast<std::size_t>(m * stride) + 16);
            const auto line =
                static_cast<std::ptrdiff_t>(-(reinterpret_cast<std::uintptr_t>(c.data()) / 4) % 16);
            std::fill(c.begin() + line, c.begin() + line + m * stride, 3.0F);
            matmul(m, n, k, o.a, o.b, c.data() + line, stride, store);
            return Floats(c.begin() + line, c.begin() + line + m * stride);
          };
          EXPECT_EQ(run({.past_caches = true}), run({})) << n << " " << k;
          EXPECT_EQ(run({1.0F, true}), run({1.0F})) << n << " " << k;
        }
}

/// Largest error of c = a·b, beside the sum of the products' magnitudes.
double largest_error(Product product, i64 m, i64 n, i64 k, const MatrixRef& a, const MatrixRef& b) {
  Floats c(static_cast<std::size_t>(m * n));
  product(m, n, k, a, b, c.data(), n, {});
  double largest = 0;
  for (i64 i = 0; i < m; ++i) {
    for (i64 j = 0; j < n; ++j) {
      double sum = 0, scale = 0;
      for (i64 p = 0; p < k; ++p) {
        const double x = element(a, i, p) * element(b, p, j);
        sum += x;
        scale += std::abs(x);
      }
      largest = std::max(largest,
                         std::abs(static_cast<double>(c[static_cast<std::size_t>(i * n + j)]) - sum) / scale);
    }
  }
  return largest;
}

/// Magnitudes from 2^-30 to 2^30, every bit of the fraction in use.
Floats of_all_sizes(i64 n, std::uint64_t seed) {
  Floats x = random_floats(n, seed);
  const Floats sizes = random_floats(n, seed + 1, 30.0F);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(x[i], static_cast<int>(sizes[i]));
  return x;
}

TEST(Matmul, MatrixUnitsAreAsExactAsFp32) {
  if (!amx_matmul_works()) GTEST_SKIP() << "this CPU has no AMX, or BORA_CPU_TARGET caps it";
  const i64 m = 70, n = 65;
  for (i64 k : {16, 300, 2000}) {
    const auto compare = [&](const Floats& a, const Floats& b, double bound) {
      const MatrixRef ra{a.data(), k}, rb{b.data(), n};
      EXPECT_LE(largest_error(amx_matmul, m, n, k, ra, rb),
                bound * largest_error(bora_matmul, m, n, k, ra, rb))
          << k;
    };
    compare(random_floats(m * k, 5), random_floats(k * n, 6), 1.0);
    compare(of_all_sizes(m * k, 7), of_all_sizes(k * n, 9), 2.0);
  }
}

TEST(Matmul, OneProductSufficesForBfloat16) {
  if (!amx_matmul_works()) GTEST_SKIP() << "this CPU has no AMX, or BORA_CPU_TARGET caps it";
  const i64 m = 97, n = 65, k = 450;
  const auto rounded = [](Floats x) {
    for (float& f : x) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &f, sizeof bits);
      bits &= 0xffff0000U;
      std::memcpy(&f, &bits, sizeof bits);
    }
    return x;
  };
  const Floats a = rounded(random_floats(m * k, 1)), b = rounded(random_floats(n * k, 2));
  const MatrixRef ra{a.data(), k, false, true}, rb{b.data(), k, true, true};
  EXPECT_LE(largest_error(amx_matmul, m, n, k, ra, rb), 1e-7);
  // One side in fp32, with bits that bfloat16 lacks: all parts are multiplied.
  const Floats wide = random_floats(m * k, 3);
  EXPECT_LE(largest_error(amx_matmul, m, n, k, {wide.data(), k}, rb), 1e-7);
  expect_equal_bits([&] {
    Floats c(static_cast<std::size_t>(m * n));
    amx_matmul(m, n, k, ra, rb, c.data(), n, {});
    return c;
  });
}

TEST(Matmul, WhatIsNotFiniteStaysSo) {
  const i64 m = 70, n = 40, k = 50;
  for (float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    for (Product product : products()) {
      const Operands o(m, n, k, false, false);
      Floats c(static_cast<std::size_t>(m * n));
      Floats spoilt = o.a_data;
      spoilt[static_cast<std::size_t>(33 * o.a.stride + 20)] = bad;
      product(m, n, k, {spoilt.data(), o.a.stride}, o.b, c.data(), n, {});
      for (i64 i = 0; i < m * n; ++i) {
        EXPECT_EQ(std::isfinite(c[static_cast<std::size_t>(i)]), i / n != 33) << bad << " " << i;
      }
    }
  }
}

TEST(Matmul, OwnBitsDoNotDependOnTheDistanceOfRows) {  // close ones are not packed
  const i64 m = 61, n = 70, k = 450;
  const Floats close = random_floats(m * k, 4), b = random_floats(n * k, 5);
  Floats far(static_cast<std::size_t>(m * 3 * k));
  for (i64 i = 0; i < m; ++i) std::copy_n(close.begin() + i * k, k, far.begin() + i * 3 * k);
  Floats from_close(static_cast<std::size_t>(m * n)), from_far(from_close.size());
  bora_matmul(m, n, k, {close.data(), k}, {b.data(), k, true}, from_close.data(), n, {});
  bora_matmul(m, n, k, {far.data(), 3 * k}, {b.data(), k, true}, from_far.data(), n, {});
  EXPECT_EQ(from_close, from_far);
}

// As views into larger arrays do.
TEST(Matmul, BitsDoNotDependOnWhereOperandsBegin) {
  for (const MatmulKernel kernel : {MatmulKernel::automatic, MatmulKernel::mkl}) {
    set_matmul_kernel(kernel);
    for (i64 n = 1; n < 13; ++n) {  // MKL's bits do for few columns
      for (int layout = 0; layout < 4; ++layout) {
        const i64 m = 16 * n + 2, k = 40 * n + 13;
        const bool at = layout & 1, bt = layout & 2;
        const Floats a = random_floats(m * k, 1), b = random_floats(k * n, 2),
                     before = random_floats(m * n, 3);
        const auto from = [&](i64 a_first, i64 b_first, i64 c_first, float beta) {
          Floats at_a(a.size() + 16), at_b(b.size() + 16), at_c(before.size() + 16);
          std::copy(a.begin(), a.end(), at_a.begin() + a_first);
          std::copy(b.begin(), b.end(), at_b.begin() + b_first);
          std::copy(before.begin(), before.end(), at_c.begin() + c_first);
          matmul(m, n, k, {at_a.data() + a_first, at ? m : k, at}, {at_b.data() + b_first, bt ? k : n, bt},
                 at_c.data() + c_first, n, {beta});
          return Floats(at_c.begin() + c_first, at_c.begin() + c_first + m * n);
        };
        for (const float beta : {0.0F, 1.0F}) {
          const Floats want = from(0, 0, 0, beta);
          for (const i64 first : {1, 4, 6, 8, 13}) {
            EXPECT_EQ(from(first, 0, 0, beta), want) << n << " " << layout;
            EXPECT_EQ(from(0, first, 0, beta), want) << n << " " << layout;
            EXPECT_EQ(from(0, 0, first, beta), want) << n << " " << layout;
          }
        }
      }
    }
  }
  set_matmul_kernel(MatmulKernel::automatic);
}

TEST(Matmul, ProductsInsideChunksAndBatches) {
  const i64 batch = 7, m = 20, n = 30, k = 40;
  const Floats a = random_floats(batch * m * k, 4), b = random_floats(batch * n * k, 5);
  expect_equal_bits([&] {
    Floats c(static_cast<std::size_t>(batch * m * n));
    batched_matmul(batch, m, n, k, {a.data(), k}, m * k, {b.data(), k, true}, n * k, c.data(), n, m * n);
    for (i64 i = 0; i < batch; ++i) {
      Floats one(static_cast<std::size_t>(m * n));
      bora_matmul(m, n, k, {a.data() + i * m * k, k}, {b.data() + i * n * k, k, true}, one.data(), n, {});
      EXPECT_TRUE(std::equal(one.begin(), one.end(), c.begin() + i * m * n));
    }
    return c;
  });
}

// Shapes for which MKL by itself divides sums or rows by the number of threads; several tiles each way;
// strides wider than the rows; one row, as in generation.
TEST(Matmul, BitsDependOnThreadsWithNoKernel) {
  for (MatmulKernel kernel : kernels()) {
    set_matmul_kernel(kernel);
    for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{33, 17, 5000},
                                  {64, 96, 128},
                                  {1, 500, 300},
                                  {3, 70, 4000},
                                  {300, 270, 400},
                                  {129, 513, 64},
                                  {200, 100, 1700},
                                  {16, 16, 20000}}) {
      for (int layout = 0; layout < 4; ++layout) {
        const Operands o(m, n, k, layout & 1, layout & 2);
        const Floats before = random_floats(m * (n + 2), 6);
        expect_equal_bits([&, m = m, n = n, k = k] {
          Floats c = before;
          matmul(m, n, k, o.a, o.b, c.data(), n + 2, {layout == 3 ? 1.0F : 0.0F});
          return c;
        });
      }
    }
  }
  set_matmul_kernel(MatmulKernel::automatic);
}

i64 observed_columns = 0;

TEST(Matmul, ObserverSeesEveryProduct) {
  set_matmul_observer(
      [](i64 batch, i64 m, i64 n, i64 k, const MatrixRef&, const MatrixRef& b, double seconds) {
        EXPECT_EQ(std::tuple(batch, m, k), std::tuple(i64{1}, i64{3}, i64{5}));
        EXPECT_TRUE(b.transposed);
        EXPECT_GE(seconds, 0);
        observed_columns = n;
      });
  const Operands o(3, 4, 5, false, true);
  Floats c(12);
  matmul(3, 4, 5, o.a, o.b, c.data(), 4);
  set_matmul_observer(nullptr);
  EXPECT_EQ(observed_columns, 4);
}

TEST(Matmul, KernelCanBeChosen) {
  EXPECT_STREQ(matmul_path(), amx_matmul_works()       ? "amx"
                              : !bora_matmul_is_fast() ? "mkl"
                              : bf16_matmul_works()    ? "bora+bf16"
                                                       : "bora");
  for (MatmulKernel kernel : kernels()) {
    set_matmul_kernel(kernel);
    EXPECT_EQ(matmul_path()[0], "?mba"[static_cast<int>(kernel)]);
    check(&matmul, 70, 40, 30, 0.0F);
    check(&matmul, 260, 300, 20, 1.0F);  // several tiles, the last of them cut
  }
  set_matmul_kernel(MatmulKernel::automatic);
}

void few_rows(i64 m, i64 n, i64 k, MatrixRef a, MatrixRef b, float* c, i64 c_stride, Store) {
  few_rows_matmul(m, n, k, a, b, c, c_stride);
}

TEST(FewRows, AgreeWithDoublePrecision) {
  for (const auto& [m, n, k] : {std::tuple<i64, i64, i64>{1, 1, 1},
                                {1, 40, 20},
                                {2, 3, 100},
                                {3, 130, 7},
                                {8, 65, 300},
                                {16, 67, 33},
                                {19, 70, 16},
                                {4, 64, 0}})
    check(&few_rows, m, n, k, 0.0F);
}

TEST(FewRows, BitsDependOnNeitherThreadsNorOtherRows) {
  const i64 m = 16, n = 333, k = 901;
  for (const bool transposed : {false, true}) {
    const Operands o(m, n, k, false, transposed);
    const auto run = [&](i64 rows) {
      Floats c(static_cast<std::size_t>(m * n));
      few_rows_matmul(rows, n, k, o.a, o.b, c.data(), n);
      return c;
    };
    expect_equal_bits([&] { return run(m); });
    const Floats all = run(m);
    for (i64 rows = 1; rows < m; ++rows) {
      const Floats some = run(rows);
      EXPECT_TRUE(std::equal(some.begin(), some.begin() + rows * n, all.begin())) << rows;
    }
  }
}

// Training's products do not change with the rows that a thread keeps apart elsewhere.
TEST(FewRows, AreForRowsApartAlone) {
  const Operands o(3, 100, 333, false, true);
  const auto run = [&](i64 groups) {
    Floats c(300);
    const i64 before = set_rows_apart(groups);
    matmul(3, 100, 333, o.a, o.b, c.data(), 100);
    EXPECT_EQ(set_rows_apart(before), groups);
    EXPECT_EQ(before, 0);
    return c;
  };
  Floats few(300);
  few_rows_matmul(3, 100, 333, o.a, o.b, few.data(), 100);
  EXPECT_EQ(run(1), few);
  EXPECT_EQ(run(3), few);
  EXPECT_NE(run(0), few);
  EXPECT_EQ(run(2), run(0)) << "three rows are no two texts";
}

// Where arrays begin.
float* on_a_line(float* p) {
  return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(p) + 63) / 64 * 64);
}

// Groups of rows have the bits of products of their own, wherever they begin in memory.
TEST(Matmul, RowsApart) {
  for (const i64 rows : {1, 3, 70}) {
    for (const i64 k : {24, 64}) {
      constexpr i64 kGroups = 3, kColumns = 300;
      const i64 m = kGroups * rows;
      for (const bool transposed : {false, true}) {
        const Operands o(m, kColumns, k, false, transposed);
        Floats together(m * kColumns), copies(rows * (k + kColumns) + 48);
        float* const own = on_a_line(copies.data());
        float* const alone = on_a_line(own + rows * k);
        const i64 before = set_rows_apart(kGroups);
        matmul(m, kColumns, k, o.a, o.b, together.data(), kColumns);
        EXPECT_EQ(set_rows_apart(before), kGroups);
        for (i64 g = 0; g < kGroups; ++g) {
          for (i64 i = 0; i < rows; ++i) std::copy_n(o.a.data + (g * rows + i) * o.a.stride, k, own + i * k);
          set_rows_apart(1);
          matmul(rows, kColumns, k, {own, k}, o.b, alone, kColumns);
          set_rows_apart(before);
          for (i64 i = 0; i < rows * kColumns; ++i)
            ASSERT_EQ(together[g * rows * kColumns + i], alone[i]) << rows << " " << k << " " << g;
        }
      }
    }
  }
}

}  // namespace
}  // namespace bora::kernels
