// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/fp8.h"

#include <bit>
#include <cmath>
#include <limits>

namespace bora::kernels {
namespace {

// Bits of the mantissa, and the exponent of 1.
struct Shape8 {
  unsigned mantissa;
  int bias;
};
constexpr Shape8 shape_of(Fp8 format) { return format == Fp8::e4m3 ? Shape8{3, 7} : Shape8{2, 15}; }

}  // namespace

float largest_of(Fp8 format) { return format == Fp8::e4m3 ? 448.0F : 57344.0F; }

std::uint8_t to_fp8(float x, Fp8 format) {
  const auto [mantissa, bias] = shape_of(format);
  const auto bits = std::bit_cast<std::uint32_t>(x), sign = bits >> 24 & 0x80U;
  std::uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return static_cast<std::uint8_t>(sign | 0x7fU);
  const auto most = std::bit_cast<std::uint32_t>(largest_of(format));
  if (size > most) size = most;
  const unsigned shift = 23 - mantissa;
  const auto least = static_cast<std::uint32_t>(128 - bias) << 23;  // the smallest normal number
  if (size < least) {  // adding a number whose last bit is the format's rounds to it
    const auto magic = static_cast<std::uint32_t>(128 - bias + static_cast<int>(shift)) << 23;
    const float rounded = std::bit_cast<float>(size) + std::bit_cast<float>(magic);
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - magic));
  }
  const std::uint32_t odd = size >> shift & 1U, half = (1U << (shift - 1)) - 1;
  size += half + odd;
  size -= static_cast<std::uint32_t>(127 - bias) << 23;
  return static_cast<std::uint8_t>(sign | size >> shift);
}

float from_fp8(std::uint8_t x, Fp8 format) {
  const auto [mantissa, bias] = shape_of(format);
  const int size = x & 0x7f, exponent = size >> mantissa, rest = size & ((1 << mantissa) - 1);
  const bool no_number = format == Fp8::e4m3 ? size == 0x7f : size > 0x7c;
  const float value = no_number                             ? std::numeric_limits<float>::quiet_NaN()
                      : format == Fp8::e5m2 && size == 0x7c ? std::numeric_limits<float>::infinity()
                      : exponent == 0
                          ? std::ldexp(static_cast<float>(rest), 1 - bias - static_cast<int>(mantissa))
                          : std::ldexp(static_cast<float>(rest + (1 << mantissa)),
                                       exponent - bias - static_cast<int>(mantissa));
  return (x & 0x80) != 0 ? -value : value;
}

int fp8_exponent(float largest, Fp8 format) {
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest),
            top = format == Fp8::e4m3 ? 8 : 15;  // of the largest number, 1.75 · 2^top
  const int k = top - exponent - (std::ldexp(largest, -exponent) > 1.75F ? 1 : 0);
  return k < 126 ? k : 126;
}

float quantize(std::int64_t rows, std::int64_t n, const float* x, float largest, Fp8 format, std::uint8_t* y,
               std::uint8_t* turned) {
  const bool finite = std::isfinite(largest);
  const int k = finite ? fp8_exponent(largest, format) : 0;
  const float scale = finite ? std::ldexp(1.0F, k) : std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint8_t v = to_fp8(x[r * n + i] * scale, format);
      if (y != nullptr) y[r * n + i] = v;
      if (turned != nullptr) turned[i * rows + r] = v;
    }
  }
  return finite ? std::ldexp(1.0F, -k) : scale;
}

}  // namespace bora::kernels
