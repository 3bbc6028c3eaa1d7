// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// On a device these are products in fp8; on the CPU the scope changes nothing.
#include "bora/core/fp8.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/core/autograd/cast.h"
#include "bora/core/cast_once.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/plain/fp8.h"
#include "bora/core/reduce.h"
#include "bora/core/step_ops.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

const NameList kRi{"r", "i"}, kOiAxes{"o", "i"}, kRo{"r", "o"}, kO{"o"};

Array drawn_for_fp8(double seed, at::IntArrayRef sizes) {
  return wrap(testing::moved(testing::values(sizes, seed)));
}

// The result of a map, then the gradients of x, the weight and the bias.
std::vector<Array> of_a_map(bool on) {
  Array x = drawn_for_fp8(1, {64, 96}), weight = drawn_for_fp8(2, {48, 96}), bias = drawn_for_fp8(3, {48}), y;
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

// On a device the kernels that write copies of weights give their largest elements: those that are asked for apart.
TEST(Fp8, TheLargestElementsOfWeights) {
  const bool on_a_device = default_device() != Device();
  Array first = drawn_for_fp8(1, {48, 96}), second = drawn_for_fp8(2, {17, 5}), bias = drawn_for_fp8(3, {48});
  Array mean = drawn_for_fp8(4, {48, 96}), square = wrap(tensor(mean).square());
  const Array gradient = drawn_for_fp8(5, {48, 96});
  const std::vector<Parameter> parameters{{.axes = kOiAxes, .array = &first},
                                          {.axes = kO, .role = Role::bias, .array = &bias},
                                          {.axes = kOiAxes, .array = &second}};
  const auto number_of = [&](const Array& weight) {
    const at::Tensor copy = tensor(cast({weight, kOiAxes}, DType::bf16)),
                     known = autograd::largest_of_copies(copy);
    EXPECT_EQ(known.defined(), on_a_device);
    const float asked = plain::largest(copy).item<float>();
    if (known.defined()) {
      EXPECT_EQ(known.item<float>(), asked);
    }
    return asked;
  };
  KeptCopies kept;
  std::vector<float> numbers;
  for (int step = 0; step < 3; ++step) {
    const CastOnceScope once(parameters, kept);
    const Fp8Scope on;
    numbers.push_back(number_of(first));
    (void)number_of(second);
    const Array biases = cast({bias, kO}, DType::bf16);
    EXPECT_FALSE(autograd::largest_of_copies(tensor(biases)).defined()) << "of matrices alone";
    EXPECT_FALSE(
        autograd::largest_of_copies(tensor(cast({first, kOiAxes}, DType::bf16)).narrow(0, 0, 16)).defined());
    adamw({0.5F, 0.9F, 0.95F, 1e-8F, 0.1F, 0.3F, 0.2F, 0.5F}, first, gradient, mean, square);
  }
  EXPECT_NE(numbers[0], numbers[1]);
  EXPECT_NE(numbers[1], numbers[2]);
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
