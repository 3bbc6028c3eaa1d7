// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/plain/fp8.h"

#include "bora/core/kernels/cpu/fp8.h"
#include "bora/core/torch/testing.h"

namespace bora::core::plain {
namespace {

// To the bit: all is exact but one rounding.
TEST(PlainFp8, IsAsTheKernel) {
  const at::Tensor x = core::testing::values({32, 48}, 1);
  std::vector<at::Tensor> all;
  for (const double scale : {1.0, 1e-3, 5e4, 1e-30, 0.0}) all.push_back(x.mul(scale));
  all.push_back(x.mul(10).exp().to(at::kBFloat16));
  all.push_back(x.clone());
  all.back()[3][5] = std::numeric_limits<float>::infinity();
  for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
    for (const at::Tensor& one : all) {
      const at::Tensor wide = one.to(at::kFloat).contiguous();
      const auto plain = quantize(one, format, plain::largest(one));
      const bool finite = wide.isfinite().all().item<bool>();
      const float largest = finite ? wide.abs().max().item<float>() : std::numeric_limits<float>::quiet_NaN();
      std::vector<std::uint8_t> y(32 * 48), turned(32 * 48);
      const float inverse =
          kernels::quantize(32, 48, wide.const_data_ptr<float>(), largest, format, y.data(), turned.data());
      const auto bytes = [](const at::Tensor& t) {
        const auto* p = static_cast<const std::uint8_t*>(t.const_data_ptr());
        return std::vector<std::uint8_t>(p, p + t.numel());
      };
      if (!finite) {
        EXPECT_TRUE(std::isnan(inverse) && plain.inverse.isnan().all().item<bool>());
        EXPECT_TRUE(plain.y.to(at::kFloat).isnan().all().item<bool>());
        continue;
      }
      EXPECT_EQ(plain.inverse.item<float>(), inverse);
      EXPECT_EQ(bytes(plain.y), y);
      EXPECT_EQ(bytes(plain.turned), turned);
      EXPECT_EQ(plain.turned.sizes(), (std::vector<std::int64_t>{48, 32}));
    }
  }
}

}  // namespace
}  // namespace bora::core::plain
