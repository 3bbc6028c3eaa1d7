// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// On a device these are products in fp8; on the CPU the scope changes nothing.
#include "bora/core/fp8.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

const NameList kRi{"r", "i"}, kOiAxes{"o", "i"}, kRo{"r", "o"}, kO{"o"};

// The result of a map, then the gradients of x, the weight and the bias.
std::vector<Array> of_a_map(bool on) {
  const auto drawn = [](double seed, at::IntArrayRef sizes) {
    return wrap(testing::moved(testing::values(sizes, seed)));
  };
  Array x = drawn(1, {64, 96}), weight = drawn(2, {48, 96}), bias = drawn(3, {48}), y;
  const std::vector<Array*> parameters{&x, &weight, &bias};
  const Fp8Scope scope(on);
  auto result = value_and_grad(parameters, [&] {
    const auto narrow = [](const Array& a, const NameList& names) { return cast({a, names}, DType::bf16); };
    const Array xn = narrow(x, kRi), wn = narrow(weight, kOiAxes), bn = narrow(bias, kO);
    y = cast({linear({xn, kRi}, {wn, kOiAxes}, bn, kRo), kRo}, DType::f32);
    return reduce(Reduction::sum, {unary(Unary::square, {y, kRo}), kRo}, kRo);
  });
  std::vector<Array> out{y};
  for (auto& g : result.gradients) out.push_back(std::move(g));
  return out;
}

TEST(Fp8, AMapIsNearThatOfBf16) {
  const auto got = of_a_map(true), want = of_a_map(false), again = of_a_map(true);
  const bool on_a_device = default_device() != Device();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto a = got[i].to_vector<double>(), b = want[i].to_vector<double>();
    double apart = 0, all = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      apart += std::pow(a[k] - b[k], 2);
      all += std::pow(b[k], 2);
    }
    EXPECT_LT(std::sqrt(apart / all), 0.08) << i;
    EXPECT_EQ(apart > 0, on_a_device) << i;
    EXPECT_EQ(got[i].to_vector<float>(), again[i].to_vector<float>()) << i;
  }
}

TEST(Fp8, ScopesNest) {
  EXPECT_FALSE(in_fp8());
  {
    const Fp8Scope on;
    EXPECT_TRUE(in_fp8());
    {
      const Fp8Scope off(false);
      EXPECT_FALSE(in_fp8());
    }
    EXPECT_TRUE(in_fp8());
  }
  EXPECT_FALSE(in_fp8());
}

}  // namespace
}  // namespace bora::core
