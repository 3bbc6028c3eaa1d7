// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "fp8.h"

#include <utility>

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;
using core::Fp8;

double value_of(std::uint8_t code, Fp8 format) {
  const int mantissa = format == Fp8::e4m3 ? 3 : 2, bias = format == Fp8::e4m3 ? 7 : 15, size = code & 0x7f;
  const int exponent = size >> mantissa, rest = size & ((1 << mantissa) - 1);
  const double v = exponent == 0 ? std::ldexp(rest, 1 - bias - mantissa)
                                 : std::ldexp(rest + (1 << mantissa), exponent - bias - mantissa);
  return (code & 0x80) != 0 ? -v : v;
}

// Of the format's numbers up to its largest, the nearest, of two the one whose last bit is 0.
std::uint8_t nearest_code(double x, Fp8 format) {
  const int last = format == Fp8::e4m3 ? 0x7e : 0x7b;
  int low = 0, high = last;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(static_cast<std::uint8_t>(middle), format) <= std::abs(x) ? low : high) = middle;
  }
  const double down = std::abs(x) - value_of(static_cast<std::uint8_t>(low), format),
               up = value_of(static_cast<std::uint8_t>(high), format) - std::abs(x);
  const int best = down < up || (down == up && low % 2 == 0) ? low : high;
  return static_cast<std::uint8_t>(best | (std::signbit(x) ? 0x80 : 0));
}

// Of fp8_quantize.
struct Narrowed {
  List<std::uint8_t> y, turned, y_alone, turned_alone;
  List<float> inverse = List<float>(1);
};
template <class T>
Narrowed narrowed(Fp8 format, std::int64_t rows, std::int64_t n, const T* x, const List<float>& largest) {
  Narrowed out;
  for (auto* list : {&out.y, &out.turned, &out.y_alone, &out.turned_alone}) list->resize(rows * n);
  const auto run = [&](std::uint8_t* y, std::uint8_t* turned) {
    fp8_quantize(format, rows, n, x, largest.data(), std::ssize(largest), y, turned, out.inverse.data(),
                 nullptr);
  };
  in_all_orders(
      [&] {
        run(out.y.data(), out.turned.data());
        run(out.y_alone.data(), nullptr);
        run(nullptr, out.turned_alone.data());
      },
      out.y, out.turned, out.y_alone, out.turned_alone, out.inverse);
  EXPECT_EQ(out.y, out.y_alone);
  EXPECT_EQ(out.turned, out.turned_alone);
  return out;
}

// A tile has 128 rows and 64 columns.
constexpr std::pair<int, int> kShapes[] = {{16, 16},   {64, 64},  {128, 64}, {256, 128}, {16, 2064},
                                           {2064, 16}, {80, 208}, {144, 80}, {272, 176}};

TEST(CudaFp8, ScalesAndRoundsAndTurns) {
  for_both_types([](auto t) {
    using T = decltype(t);
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
      for (const auto& shape : kShapes) {
        const int rows = shape.first, n = shape.second;
        for (const float size : {1.0F, 3e-5F, 2e4F}) {
          SCOPED_TRACE(::testing::Message() << rows << " x " << n << " of " << size);
          const auto x = random<T>(rows * n, 7, size);
          List<float> largest(1);
          in_all_orders(
              [&] {
                largest[0] = 0;
                fp8_max_abs(std::ssize(x), x.data(), largest.data(), nullptr);
              },
              largest);
          const double most = largest_in(x);
          EXPECT_EQ(largest[0], most);
          const auto got = narrowed(format, rows, n, x.data(), largest);
          const double limit = format == Fp8::e4m3 ? 448 : 57344, scale = 1 / double(got.inverse[0]);
          EXPECT_EQ(std::exp2(std::floor(std::log2(limit / most))), scale);
          const auto values = wide(x);
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t i = 0; i < n; ++i) {
              ASSERT_EQ(got.y[r * n + i], nearest_code(values[r * n + i] * scale, format))
                  << values[r * n + i];
              ASSERT_EQ(got.turned[i * rows + r], got.y[r * n + i]) << r << ", " << i;
            }
          }
        }
      }
    }
  });
}

// Beside the arrays nothing is written, and where x does not begin at a multiple of 16 bytes the bits are the same.
TEST(CudaFp8, KeepsToItsArraysAndReadsFromAnywhere) {
  for_both_types([](auto t) {
    using T = decltype(t);
    const std::int64_t rows = 144, n = 80, beside = 16;
    const auto x = random<T>(rows * n, 11);
    List<T> moved(x.size() + 1);
    std::copy(x.begin(), x.end(), moved.begin() + 1);
    const List<float> largest{1};
    const auto want = narrowed(Fp8::e4m3, rows, n, x.data(), largest);
    const auto got = narrowed(Fp8::e4m3, rows, n, moved.data() + 1, largest);
    EXPECT_EQ(got.y, want.y);
    EXPECT_EQ(got.turned, want.turned);

    List<std::uint8_t> y(x.size() + 2 * beside, 0x55), turned = y;
    float inverse = 0;
    fp8_quantize(Fp8::e4m3, rows, n, x.data(), largest.data(), 1, y.data() + beside, turned.data() + beside,
                 &inverse, nullptr);
    for (const auto& [wide_one, one] : {std::pair{&y, &want.y}, {&turned, &want.turned}}) {
      List<std::uint8_t> all(beside, 0x55);
      all.insert(all.end(), one->begin(), one->end());
      all.resize(one->size() + 2 * beside, 0x55);
      EXPECT_EQ(*wide_one, all);
    }
  });
}

// In blocks that are whole and in the last one, at each place of a pack.
TEST(CudaFp8, FindsTheLargestAnywhere) {
  for_both_types([](auto t) {
    using T = decltype(t);
    const std::int64_t block = 256 * 8 * 8, n = 2 * block + 4099;
    List<T> x(n, from_float<T>(-0.5F));
    for (std::int64_t i = 0; i < n; i += i < n - 9 ? 1025 : 1) {
      SCOPED_TRACE(i);
      const T before = std::exchange(x[i], from_float<T>(-3.0F));
      float largest = 0;
      fp8_max_abs(n, x.data(), &largest, nullptr);
      EXPECT_EQ(largest, 3);
      x[i] = before;
    }
  });
}

TEST(CudaFp8, ZerosAndWhatIsNotFinite) {
  for_both_types([](auto t) {
    using T = decltype(t);
    const std::int64_t rows = 144, n = 80;
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
      List<T> x(rows * n);
      List<float> largest(1);
      fp8_max_abs(rows * n, x.data(), largest.data(), nullptr);
      EXPECT_EQ(largest[0], 0);
      const auto zeros = narrowed(format, rows, n, x.data(), largest);
      EXPECT_EQ(zeros.inverse[0], 1);
      EXPECT_EQ(zeros.y, List<std::uint8_t>(rows * n));
      EXPECT_EQ(zeros.turned, zeros.y);
      for (const float bad : {INFINITY, -INFINITY, std::nanf("")}) {
        x[100] = from_float<T>(bad);
        largest[0] = 0;
        fp8_max_abs(rows * n, x.data(), largest.data(), nullptr);
        EXPECT_TRUE(std::isnan(largest[0]));
        const auto got = narrowed(format, rows, n, x.data(), largest);
        EXPECT_TRUE(std::isnan(got.inverse[0]));
        for (const auto* list : {&got.y, &got.turned})
          EXPECT_TRUE(
              std::all_of(list->begin(), list->end(), [](int code) { return (code & 0x7f) == 0x7f; }));
      }
    }
  });
}

// What a largest element that is too small leaves above the format's largest number becomes that.
TEST(CudaFp8, SaturatesAndKeepsTheSignOfZero) {
  const float values[] = {448, 449, 1e30F, INFINITY, 0, 0x1p-10F, 0x1.8p-9F, 0x1p-149F};
  const std::uint8_t want[] = {0x7e, 0x7e, 0x7e, 0x7e, 0, 0, 2, 0};
  List<float> x(256);
  for (int i = 0; i < 256; ++i) x[i] = i % 16 < 8 ? values[i % 8] : -values[i % 8];
  const auto got = narrowed(Fp8::e4m3, 16, 16, x.data(), {448});
  EXPECT_EQ(got.inverse[0], 1);
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(got.y[i], want[i % 8] | (i % 16 < 8 ? 0 : 0x80)) << x[i];
    EXPECT_EQ(got.turned[i % 16 * 16 + i / 16], got.y[i]);
  }
}

// As of several arrays that lie one behind the other.
TEST(CudaFp8, TheLargestOfParts) {
  const std::int64_t rows = 48, n = 32;
  const auto x = random<Bf16>(rows * n, 3);
  float most = 0;
  fp8_max_abs(std::ssize(x), x.data(), &most, nullptr);
  List<std::uint8_t> y(x.size()), turned(x.size()), y2(x.size()), turned2(x.size());
  List<float> inverse(1), inverse2(1);
  fp8_quantize(Fp8::e4m3, rows, n, x.data(), &most, 1, y.data(), turned.data(), inverse.data(), nullptr);
  for (const auto& parts : List<List<float>>{{most, 0, most / 8}, {0, most / 2, most}}) {
    in_all_orders(
        [&] {
          fp8_quantize(Fp8::e4m3, rows, n, x.data(), parts.data(), std::ssize(parts), y2.data(),
                       turned2.data(), inverse2.data(), nullptr);
        },
        y2, turned2, inverse2);
    EXPECT_EQ(y2, y);
    EXPECT_EQ(turned2, turned);
    EXPECT_EQ(inverse2, inverse);
  }
  const List<float> bad{1, std::nanf(""), 2};
  fp8_quantize(Fp8::e4m3, rows, n, x.data(), bad.data(), 3, y2.data(), nullptr, inverse2.data(), nullptr);
  EXPECT_TRUE(std::isnan(inverse2[0]));
}

}  // namespace
}  // namespace bora::cuda
