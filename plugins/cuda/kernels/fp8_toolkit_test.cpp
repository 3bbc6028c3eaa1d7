// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GPUs that multiply in fp8 convert by the toolkit's functions, others as the kernel writes it out: to the same bytes. On
// the host those functions compute what they stand for on a GPU.
#include <cuda_fp8.h>

#include <bit>

#include "fp8.h"
#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;
using core::Fp8;

template <class T>
void expect_same_bytes(const List<T>& x) {
  constexpr std::int64_t n = 256;
  ASSERT_EQ(x.size() % (16 * n), 0U);
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    SCOPED_TRACE(format == Fp8::e4m3 ? "E4M3" : "E5M2");
    const float largest = format == Fp8::e4m3 ? 448 : 57344;  // for which the scale is 1
    float inverse = 0;
    List<std::uint8_t> y(x.size());
    fp8_quantize(format, std::ssize(x) / n, n, x.data(), &largest, 1, y.data(), nullptr, &inverse, nullptr);
    ASSERT_EQ(inverse, 1);
    const auto toolkits = format == Fp8::e4m3 ? __NV_E4M3 : __NV_E5M2;
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const float2 two{to_float(x[i]), to_float(x[i + 1])};
      const unsigned bytes = __nv_cvt_float2_to_fp8x2(two, __NV_SATFINITE, toolkits);
      // Of NaN the toolkit's byte has no sign.
      ASSERT_EQ(std::isnan(two.x) ? y[i] & 0x7f : y[i], bytes & 0xff) << two.x << " at " << i;
      ASSERT_EQ(std::isnan(two.y) ? y[i + 1] & 0x7f : y[i + 1], bytes >> 8) << two.y << " at " << i + 1;
    }
  }
}

TEST(CudaFp8Toolkit, ConvertsEachBf16ToTheSameByte) {
  List<Bf16> x;
  for (unsigned bits = 0; bits < 0x10000; ++bits) x.push_back({static_cast<std::uint16_t>(bits)});
  expect_same_bytes(x);
}

// Ties are numbers of bf16: those on both sides of each, and others.
TEST(CudaFp8Toolkit, ConvertsFp32ToTheSameByte) {
  List<float> x;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      x.push_back(std::bit_cast<float>(bits << 16 | low));
  }
  std::mt19937 chance(5);
  for (int i = 0; i < 1 << 18; ++i) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(chance())));
  expect_same_bytes(x);
}

}  // namespace
}  // namespace bora::cuda
