// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/device.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/grouped.h"
#include "bora/core/index.h"
#include "bora/core/reduce.h"

namespace bora::core::factor_test {
namespace {

constexpr std::string_view kRi[] = {"r", "i"}, kOi[] = {"o", "i"}, kRo[] = {"r", "o"}, kO[] = {"o"},
                           kR[] = {"r"}, kVi[] = {"v", "i"}, kXoi[] = {"x", "o", "i"},
                           kCounts[] = {"expert", "part"};
constexpr std::int64_t kRows = 96, kIn = 24, kOut = 40;

Array normal(std::uint64_t seed, Names names, std::vector<std::int64_t> sizes) {
  return random_normal(Key::from_seed(seed), {names, sizes});
}
Array low(const Array& x, Names names) { return cast({x, names}, DType::bf16); }
Array rounded(const Array& x, Names names) { return cast({low(x, names), names}, DType::f32); }

// Σ y · c in fp32, so that y's gradient is c.
Array weighed(const Array& y, const Array& c, Names names) {
  const Array wide = cast({y, names}, DType::f32);
  const Array all = binary(Binary::multiply, {wide, names}, {c, names}, names);
  return reduce(Reduction::sum, {all, names}, names);
}

std::int64_t of_more_bits_than_bf16(const std::vector<float>& x) {
  return std::count_if(x.begin(), x.end(), [](float v) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    return (bits & 0xFFFFU) != 0;
  });
}

using Loss = std::function<Array(const std::vector<Array>& parameters, DType compute)>;

// The gradients of a pass in bf16 are those of one in fp32 with the same values: nothing rounds them.
void expect_unrounded(std::vector<Array> parameters, const std::vector<Names>& names, const Loss& loss,
                      float tolerance) {
  std::vector<Array*> leaves;
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = rounded(parameters[i], names[i]);
  for (auto& p : parameters) leaves.push_back(&p);
  const auto gradients = [&](DType compute) {
    return value_and_grad(leaves,
                          [&] {
                            std::vector<Array> used;
                            for (std::size_t i = 0; i < parameters.size(); ++i)
                              used.push_back(cast({parameters[i], names[i]}, compute));
                            return loss(used, compute);
                          })
        .gradients;
  };
  const auto got = gradients(DType::bf16), want = gradients(DType::f32);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto a = got[i].to_vector<float>(), b = want[i].to_vector<float>();
    ASSERT_EQ(a.size(), b.size()) << i;
    float largest = 0;
    for (const float v : b) largest = std::max(largest, std::abs(v));
    for (std::size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], tolerance * largest) << i << " at " << k;
    EXPECT_GT(of_more_bits_than_bf16(a), 0) << i;
  }
}

TEST(Factor, ALinearMapsWeightAndBiasHaveUnroundedGradients) {
  const Array x = rounded(normal(1, kRi, {kRows, kIn}), kRi), c = rounded(normal(2, kRo, {kRows, kOut}), kRo);
  expect_unrounded(
      {normal(3, kOi, {kOut, kIn}), normal(4, kO, {kOut})}, {kOi, kO},
      [&](const auto& p, DType compute) {
        const Array in = cast({x, kRi}, compute);
        return weighed(linear({in, kRi}, {p[0], kOi}, p[1], kRo), c, kRo);
      },
      1e-6F);
}

// In bf16, the sum of a row that is taken often would stop growing.
TEST(Factor, ATablesRowsHaveUnroundedGradients) {
  std::vector<std::int32_t> ids(kRows);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % 5 == 0 ? i % 7 : 7);
  const std::int64_t sizes[] = {kRows};
  const Array rows = from_data({kR, sizes}, std::span<const std::int32_t>(ids));
  const Array c = rounded(normal(2, kRi, {kRows, kIn}), kRi);
  expect_unrounded(
      {normal(3, kVi, {8, kIn})}, {kVi},
      [&](const auto& p, DType) { return weighed(take({p[0], kVi}, "v", {rows, kR}, kRi), c, kRi); }, 1e-6F);
}

TEST(Factor, ExpertsHaveUnroundedGradients) {
  const std::vector<std::int32_t> counts{40, 0, 56};
  const std::int64_t sizes[] = {3, 1};
  const Array rows = from_data({kCounts, sizes}, std::span<const std::int32_t>(counts));
  const Array x = rounded(normal(1, kRi, {kRows, kIn}), kRi), c = rounded(normal(2, kRo, {kRows, kOut}), kRo);
  if (device_of(x) != Device()) GTEST_SKIP() << "plain operations on the copy, there";
  expect_unrounded(
      {normal(3, kXoi, {3, kOut, kIn})}, {kXoi},
      [&](const auto& p, DType compute) {
        const Array in = cast({x, kRi}, compute);
        return weighed(grouped_linear({in, kRi}, rows, {p[0], kXoi}, {}, kRo), c, kRo);
      },
      1e-6F);
}

// The gradient of the logits counts as bf16, so that sums differ by that.
TEST(Factor, AHeadHasUnroundedGradients) {
  std::vector<std::int32_t> ids(kRows);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 11 % kOut);
  const std::int64_t sizes[] = {kRows};
  const Array targets = from_data({kR, sizes}, std::span<const std::int32_t>(ids)),
              weights = ones({kR, sizes});
  const Array x = rounded(normal(1, kRi, {kRows, kIn}), kRi);
  for (const std::int64_t chunk : {kRows, std::int64_t{65}}) {
    for (const bool of_probabilities : {false, true}) {
      expect_unrounded(
          {normal(3, kOi, {kOut, kIn}), normal(4, kO, {kOut})}, {kOi, kO},
          [&](const auto& p, DType compute) {
            const Array in = cast({x, kRi}, compute);
            CrossEntropyOptions options{.chunk = chunk};
            options.head.bias = p[1];
            const Operand hidden{in, kRi}, head{p[0], kOi}, at{targets, kR};
            if (!of_probabilities) return linear_cross_entropy(hidden, head, at, {weights, kR}, options).loss;
            return weighed(linear_log_prob(hidden, head, at, options.head, chunk), weights, kR);
          },
          8e-3F);
    }
  }
}

// Of a copy that is made into something else first, gradients are of the copy.
TEST(Factor, ACopyThatIsChangedFirstHasTheGradientOfTheCopy) {
  const Array x = rounded(normal(1, kRi, {kRows, kIn}), kRi), c = rounded(normal(2, kRo, {kRows, kOut}), kRo);
  Array weight = rounded(normal(3, kOi, {kOut, kIn}), kOi);
  const std::vector<Array*> leaves{&weight};
  const auto result = value_and_grad(leaves, [&] {
    const Array half = binary(Binary::multiply, {low(weight, kOi), kOi}, 0.5);
    return weighed(linear({low(x, kRi), kRi}, {half, kOi}, {}, kRo), c, kRo);
  });
  const auto g = result.gradients[0].to_vector<float>();
  EXPECT_EQ(of_more_bits_than_bf16(g), 0);
  EXPECT_TRUE(std::any_of(g.begin(), g.end(), [](float v) { return v != 0; }));
}

}  // namespace
}  // namespace bora::core::factor_test
