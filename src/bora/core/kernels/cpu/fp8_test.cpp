// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/fp8.h"

#include <bit>
#include <limits>

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

constexpr Fp8 kFormats[] = {Fp8::e4m3, Fp8::e5m2};

// Of all finite numbers of the format the nearest, of two the one whose last bit is 0.
std::uint8_t nearest8(float x, Fp8 format) {
  int best = 0;
  double least = 1e300;
  for (int code = 0; code < 0x7f; ++code) {
    const double value = static_cast<double>(from_fp8(static_cast<std::uint8_t>(code), format));
    if (!std::isfinite(value)) continue;
    const double apart = std::abs(std::abs(static_cast<double>(x)) - value);
    if (apart < least || (apart == least && code % 2 == 0)) best = code, least = apart;
  }
  return static_cast<std::uint8_t>(best | (std::signbit(x) ? 0x80 : 0));
}

TEST(Fp8Numbers, AreWhatTheFormatsSay) {
  EXPECT_EQ(from_fp8(0x7e, Fp8::e4m3), 448.0F);
  EXPECT_EQ(from_fp8(0x01, Fp8::e4m3), 0x1p-9F);
  EXPECT_EQ(from_fp8(0x38, Fp8::e4m3), 1.0F);
  EXPECT_TRUE(std::isnan(from_fp8(0xff, Fp8::e4m3)));
  EXPECT_EQ(from_fp8(0x7b, Fp8::e5m2), 57344.0F);
  EXPECT_EQ(from_fp8(0x81, Fp8::e5m2), -0x1p-16F);
  EXPECT_EQ(from_fp8(0x3c, Fp8::e5m2), 1.0F);
  EXPECT_TRUE(std::isinf(from_fp8(0x7c, Fp8::e5m2)));
  EXPECT_TRUE(std::isnan(from_fp8(0x7d, Fp8::e5m2)));
}

TEST(Fp8Numbers, RoundToTheNearest) {
  for (const Fp8 format : kFormats) {
    for (int code = 0; code < 0x7f; ++code) {  // itself, and what lies around the middle to the next
      const float x = from_fp8(static_cast<std::uint8_t>(code), format),
                  next = from_fp8(static_cast<std::uint8_t>(code + 1), format);
      if (!std::isfinite(x)) continue;
      EXPECT_EQ(to_fp8(x, format), code);
      if (!std::isfinite(next)) continue;
      const float middle = (x + next) / 2;
      for (const float y : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
        ASSERT_EQ(to_fp8(y, format), nearest8(y, format)) << y;
        ASSERT_EQ(to_fp8(-y, format), nearest8(-y, format)) << -y;
      }
    }
    for (const float y : random_floats(2000, 1, 3.0F * largest_of(format)))
      ASSERT_EQ(to_fp8(y, format), nearest8(y, format)) << y;
    for (const float y : random_floats(2000, 2, 0x1p-7F))
      ASSERT_EQ(to_fp8(y, format), nearest8(y, format)) << y;
    EXPECT_EQ(to_fp8(INFINITY, format), to_fp8(largest_of(format), format));
    EXPECT_TRUE(std::isnan(from_fp8(to_fp8(NAN, format), format)));
  }
}

// The largest element comes into the upper half of the range, not beyond it; what was scaled comes back as it was.
TEST(Fp8Numbers, AreScaledByAPowerOfTwo) {
  for (const Fp8 format : kFormats) {
    const float most = largest_of(format);
    for (const float largest : {1.0F, 1.75F, 1.7500001F, 0.3F, 448.0F, 60000.0F, 1e-30F, 1e38F, 0x1p-120F}) {
      const int k = fp8_exponent(largest, format);
      const float scaled = std::ldexp(largest, k);
      EXPECT_LE(scaled, most) << largest;
      EXPECT_TRUE(k == 126 || scaled > most / 2) << largest;
      EXPECT_LE(k, 126);
    }
    EXPECT_EQ(fp8_exponent(0, format), 0);
    EXPECT_EQ(fp8_exponent(0x1p-140F, format), 126);
    const Floats x = random_floats(32 * 48, 3, 0.01F);
    std::vector<std::uint8_t> y(x.size()), turned(x.size()), alone(x.size());
    const float inverse = quantize(32, 48, x.data(), 0.01F, format, y.data(), turned.data());
    EXPECT_EQ(quantize(32, 48, x.data(), 0.01F, format, nullptr, alone.data()), inverse);
    EXPECT_EQ(turned, alone);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(inverse) & 0x007fffffU, 0U) << "a power of two";
    for (std::size_t r = 0; r < 32; ++r) {
      for (std::size_t i = 0; i < 48; ++i) {
        const float value = from_fp8(y[r * 48 + i], format) * inverse, was = x[r * 48 + i];
        EXPECT_NEAR(value, was, std::abs(was) / (format == Fp8::e4m3 ? 16 : 8) + 1e-6F);
        EXPECT_EQ(turned[i * 32 + r], y[r * 48 + i]);
      }
    }
    EXPECT_TRUE(std::isnan(quantize(32, 48, x.data(), NAN, format, y.data(), nullptr)));
    EXPECT_TRUE(std::isnan(from_fp8(y[0], format)));
  }
}

}  // namespace
}  // namespace bora::kernels
