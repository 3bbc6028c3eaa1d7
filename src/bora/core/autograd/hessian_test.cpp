// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/hessian.h"

#include <gtest/gtest.h>

#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using testing::error_of;
using testing::values;

const NameList kRows{"row", "column"}, kColumn{"column"}, kRowAlone{"row"}, kNoAxes;

Array array(at::IntArrayRef sizes, double seed) { return wrap(values(sizes, seed).to(at::kDouble)); }

// sum over rows of tanh(A x)²
Array loss_of(const Array& a, const Array& x) {
  const Array y = unary(Unary::tanh, {dot({a, kRows}, {x, kColumn}, kRowAlone), kRowAlone});
  return reduce(Reduction::sum, {unary(Unary::square, {y, kRowAlone}), kRowAlone}, kRowAlone);
}

TEST(Hessian, IsTheChangeOfTheGradient) {
  Array a = array({3, 4}, 1), x = array({4}, 2);
  const std::vector<Array*> parameters{&a, &x};
  const std::vector<Array> v{array({3, 4}, 3), array({4}, 4)};
  const auto f = [&] { return loss_of(a, x); };
  const auto got = hessian_vector_product(parameters, f, v);
  const auto plain = value_and_grad(parameters, f);
  EXPECT_EQ(got.value.item(), plain.value.item());
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(tensor(got.gradients[i]).allclose(tensor(plain.gradients[i])));
    const auto gradient_at = [&](double step) {
      Array moved_a = wrap(tensor(a).add(tensor(v[0]), step)),
            moved_x = wrap(tensor(x).add(tensor(v[1]), step));
      const std::vector<Array*> moved{&moved_a, &moved_x};
      return tensor(value_and_grad(moved, [&] { return loss_of(moved_a, moved_x); }).gradients[i]);
    };
    const auto want = gradient_at(kStep).sub(gradient_at(-kStep)).div(2 * kStep);
    EXPECT_TRUE(tensor(got.products[i]).allclose(want, 1e-6, 1e-8));
  }
}

TEST(Hessian, SeesThroughCheckpoints) {
  Array a = array({3, 4}, 1), x = array({4}, 2);
  const std::vector<Array*> parameters{&a, &x};
  const std::vector<Array> v{array({3, 4}, 3), array({4}, 4)};
  const auto want = hessian_vector_product(parameters, [&] { return loss_of(a, x); }, v);
  const auto got = hessian_vector_product(
      parameters,
      [&] {
        return checkpoint([&](std::span<const Array> in) { return std::vector<Array>{loss_of(a, in[0])}; },
                          {&x, 1})[0];
      },
      v);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(tensor(got.products[i]).equal(tensor(want.products[i])));
}

TEST(Hessian, OfALinearFunctionIsZero) {
  Array x = array({4}, 2), unused = array({2}, 5);
  const std::vector<Array*> parameters{&x, &unused};
  const std::vector<Array> v{array({4}, 3), array({2}, 4)};
  const auto got =
      hessian_vector_product(parameters, [&] { return reduce(Reduction::sum, {x, kColumn}, kColumn); }, v);
  EXPECT_EQ(got.gradients[0].to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_EQ(got.gradients[1].to_vector<float>(), std::vector<float>(2, 0));
  EXPECT_EQ(got.products[0].to_vector<float>(), std::vector<float>(4, 0));
  EXPECT_EQ(got.products[1].to_vector<float>(), std::vector<float>(2, 0));
}

TEST(Hessian, SaysWhatItCannot) {
  Array x = array({4}, 2);
  const std::vector<Array*> parameters{&x};
  const std::vector<Array> v{array({4}, 3)};
  const auto f = [&] { return reduce(Reduction::sum, {x, kColumn}, kColumn); };
  EXPECT_EQ(error_of([&] { hessian_vector_product(parameters, f, {}); }),
            "hessian_vector_product: 1 parameters but a vector of 0 arrays");
  EXPECT_EQ(error_of([&] { hessian_vector_product(parameters, f, std::vector<Array>{array({3}, 1)}); }),
            "hessian_vector_product: parameter 0 is [4] of f64 but the vector has [3] of f64 there\n"
            "hint: the vector is like the parameters");
  EXPECT_EQ(error_of([&] {
              value_and_grad(parameters, [&] { return hessian_vector_product(parameters, f, v).value; });
            }).substr(0, 79),
            "hessian_vector_product: called inside a function that is being differentiated; ");
}

}  // namespace
}  // namespace bora::core
