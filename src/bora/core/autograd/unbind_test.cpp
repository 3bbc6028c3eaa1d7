// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/autograd/unbind.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack_ops.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>
#include <vector>

#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/hessian.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/testing.h"
#include "bora/core/unbind.h"

namespace bora::core {
namespace {

using at::Tensor;
using testing::values;

// The gradient of x [3, 4, 5], of which the elements along `dim` have the gradients `grads`.
Tensor gradient_of_unbound(std::int64_t dim, const std::vector<Tensor>& grads) {
  const c10::AutoGradMode recording(true);
  const Tensor x = values({3, 4, 5}, 1).set_requires_grad(true);
  return torch::autograd::grad(autograd::unbind(x, dim), {x}, grads)[0];
}

TEST(Unbind, GradientsThatLieAsTheElementsAreNotCopied) {
  for (std::int64_t dim = 0; dim < 3; ++dim) {
    SCOPED_TRACE(dim);
    const Tensor all = values({3, 4, 5}, 2);
    const Tensor got = gradient_of_unbound(dim, all.unbind(dim));
    EXPECT_TRUE(got.equal(all));
    EXPECT_EQ(got.const_data_ptr(), all.const_data_ptr());
  }
}

TEST(Unbind, OtherGradientsAreStacked) {
  for (std::int64_t dim = 0; dim < 3; ++dim) {
    SCOPED_TRACE(dim);
    const Tensor all = values({3, 4, 5}, 2);
    auto apart = all.unbind(dim);
    for (auto& g : apart) g = g.clone();
    EXPECT_TRUE(gradient_of_unbound(dim, apart).equal(all));
    auto swapped = all.unbind(dim);
    std::swap(swapped[0], swapped[1]);
    EXPECT_TRUE(gradient_of_unbound(dim, swapped).equal(at::_ops::stack::call(swapped, dim)));
    const std::vector<Tensor> same(swapped.size(), swapped[2]);
    EXPECT_TRUE(gradient_of_unbound(dim, same).equal(at::_ops::stack::call(same, dim)));
  }
}

TEST(Unbind, OfAnElementThatNobodyUsesIsZero) {
  const c10::AutoGradMode recording(true);
  const Tensor x = values({3, 4}, 1).set_requires_grad(true), g = values({4}, 2);
  const Tensor got = torch::autograd::grad({autograd::unbind(x, 0)[1]}, {x}, {g})[0];
  EXPECT_TRUE(got.select(0, 1).equal(g));
  EXPECT_TRUE(got.select(0, 0).eq(0).all().item<bool>() && got.select(0, 2).eq(0).all().item<bool>());
}

TEST(Unbind, IsDifferentiatedTwice) {
  const NameList both{"part", "column"}, column{"column"};
  Array x = wrap(values({3, 4}, 1).to(at::kDouble));
  const Tensor v = values({3, 4}, 2).to(at::kDouble);
  // Σ a³ + a²·b²: of both the product with v is known
  const auto f = [&] {
    const auto parts = unbind({x, both}, "part");
    const auto square = [&](const Array& y) { return unary(Unary::square, {y, column}); };
    const auto times = [&](const Array& y, const Array& z) {
      return binary(Binary::multiply, {y, column}, {z, column}, column);
    };
    const Array a = square(parts[0]), all = times(a, square(parts[1]));
    const Array sum = binary(Binary::add, {all, column}, {times(a, parts[0]), column}, column);
    return reduce(Reduction::sum, {sum, column}, column);
  };
  const std::vector<Array*> parameters{&x};
  const Tensor got = tensor(hessian_vector_product(parameters, f, std::vector<Array>{wrap(v)}).products[0]);
  const auto number = [](const Tensor& t, std::int64_t part, std::int64_t i) {
    return t.select(0, part).select(0, i).item().toDouble();
  };
  for (std::int64_t i = 0; i < 4; ++i) {
    const double a = number(tensor(x), 0, i), b = number(tensor(x), 1, i), of_a = number(v, 0, i),
                 of_b = number(v, 1, i);
    EXPECT_NEAR(number(got, 0, i), (6 * a + 2 * b * b) * of_a + 4 * a * b * of_b, 1e-12);
    EXPECT_NEAR(number(got, 1, i), 4 * a * b * of_a + 2 * a * a * of_b, 1e-12);
    EXPECT_EQ(number(got, 2, i), 0);
  }
}

}  // namespace
}  // namespace bora::core
