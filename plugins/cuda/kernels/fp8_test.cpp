// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "fp8.h"

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

TEST(CudaFp8, ScalesAndRoundsAndTurns) {
  for_both_types([](auto t) {
    using T = decltype(t);
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
      for (const auto& shape : {std::pair{16, 16}, {64, 64}, {80, 208}, {16, 2064}}) {
        const int rows = shape.first, n = shape.second;
        for (const float size : {1.0F, 3e-5F, 2e4F}) {
          SCOPED_TRACE(::testing::Message() << rows << " x " << n << " of " << size);
          const auto x = random<T>(rows * n, 7, size);
          double most = 0;
          for (const double v : wide(x)) most = std::max(most, std::abs(v));
          List<float> largest(1), inverse(1);
          List<std::uint8_t> y(x.size()), turned(x.size()), alone(x.size());
          in_all_orders(
              [&] {
                largest[0] = 0;
                fp8_max_abs(std::ssize(x), x.data(), largest.data(), nullptr);
                fp8_quantize(format, rows, n, x.data(), largest.data(), 1, y.data(), turned.data(),
                             inverse.data(), nullptr);
                fp8_quantize(format, rows, n, x.data(), largest.data(), 1, nullptr, alone.data(),
                             inverse.data(), nullptr);
              },
              y, turned, alone, inverse, largest);
          EXPECT_EQ(largest[0], most);
          const double limit = format == Fp8::e4m3 ? 448 : 57344, scale = 1 / double(inverse[0]);
          EXPECT_EQ(std::exp2(std::floor(std::log2(limit / most))), scale);
          EXPECT_EQ(turned, alone);
          const auto values = wide(x);
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t i = 0; i < n; ++i) {
              ASSERT_EQ(y[r * n + i], nearest_code(values[r * n + i] * scale, format)) << values[r * n + i];
              ASSERT_EQ(turned[i * rows + r], y[r * n + i]);
            }
          }
        }
      }
    }
  });
}

TEST(CudaFp8, ZerosAndWhatIsNotFinite) {
  List<float> x(256), largest(1), inverse(1);
  List<std::uint8_t> y(256);
  fp8_max_abs(256, x.data(), largest.data(), nullptr);
  fp8_quantize(Fp8::e4m3, 16, 16, x.data(), largest.data(), 1, y.data(), nullptr, inverse.data(), nullptr);
  EXPECT_EQ(largest[0], 0);
  EXPECT_EQ(inverse[0], 1);
  EXPECT_EQ(y, List<std::uint8_t>(256));
  for (const float bad : {INFINITY, -INFINITY, std::nanf("")}) {
    x[100] = bad;
    largest[0] = 0;
    fp8_max_abs(256, x.data(), largest.data(), nullptr);
    fp8_quantize(Fp8::e5m2, 16, 16, x.data(), largest.data(), 1, y.data(), nullptr, inverse.data(), nullptr);
    EXPECT_TRUE(std::isnan(largest[0]));
    EXPECT_TRUE(std::isnan(inverse[0]));
    EXPECT_EQ(y[0] & 0x7f, 0x7f);
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
