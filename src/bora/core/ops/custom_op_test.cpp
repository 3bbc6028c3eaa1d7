// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/custom_op.h"

#include <gtest/gtest.h>

#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/hessian.h"
#include "bora/core/reduce.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using In = std::span<const Operand>;

const NameList kBe{"b", "e"}, kB{"b"}, kE{"e"}, kNoNames;

Array multiply(const Operand& a, const Operand& b, Names out) { return binary(Binary::multiply, a, b, out); }

// y[b] = (sum over e of x[b, e] · w[e])², with the names of the axes in another order on the way back
CustomOpRule square_of_dot() {
  return {.name = "square_of_dot",
          .forward = [](In in) { return unary(Unary::square, {dot(in[0], in[1], kB), kB}); },
          .backward =
              [](In in, const Operand&, const Operand& gradient) {
                const Array twice = binary(Binary::multiply, {dot(in[0], in[1], kB), kB}, 2.0);
                const Array g = multiply({twice, kB}, gradient, kB);
                return std::vector<Array>{dot({g, kB}, in[1], kBe), dot({g, kB}, in[0], kE)};
              },
          .cut = {"b"},
          .summed = {}};
}

TEST(CustomOp, HasItsOwnBackwardPass) {
  const CustomOp op(square_of_dot());
  expect_same(
      {{values({3, 4}), kBe}, {values({4}, 1), kE}}, kB,
      [&](In in) {
        const Array x = rearrange(in[0], kBe);
        return Result{op({Operand{x, kBe}, in[1]}, kB), kB};
      },
      [](const std::vector<Tensor>& in) { return in[0].mul(in[1]).sum(1).square(); });
}

TEST(CustomOp, IsComputedAgain) {
  const CustomOp op(square_of_dot());
  Array x = wrap(values({3, 4})), w = wrap(values({4}, 1));
  const std::vector<Array*> parameters{&x, &w};
  const auto loss = [&](const Array& rows) {
    return reduce(Reduction::sum, {op({Operand{rows, kBe}, Operand{w, kE}}, kB), kB}, kB);
  };
  const auto want = value_and_grad(parameters, [&] { return loss(x); });
  const auto got = value_and_grad(parameters, [&] {
    return checkpoint([&](std::span<const Array> in) { return std::vector<Array>{loss(in[0])}; }, {&x, 1})[0];
  });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(tensor(got.gradients[i]).equal(tensor(want.gradients[i])));
}

// made of Bora's ops, the backward pass has a derivative of its own
TEST(CustomOp, CanBeDifferentiatedTwice) {
  const CustomOp op(square_of_dot());
  Array x = wrap(values({3, 4})), w = wrap(values({4}, 1));
  const std::vector<Array*> parameters{&x, &w};
  const std::vector<Array> v{wrap(values({3, 4}, 2)), wrap(values({4}, 3))};
  const auto own = hessian_vector_product(
      parameters, [&] { return reduce(Reduction::sum, {op({Operand{x, kBe}, Operand{w, kE}}, kB), kB}, kB); },
      v);
  const auto plain = hessian_vector_product(
      parameters,
      [&] {
        return reduce(Reduction::sum, {unary(Unary::square, {dot({x, kBe}, {w, kE}, kB), kB}), kB}, kB);
      },
      v);
  for (std::size_t i = 0; i < 2; ++i)
    expect_close(tensor(own.products[i]), tensor(plain.products[i]), "second derivative");
}

TEST(CustomOp, SaysWhatIsWrong) {
  const Array x = wrap(values({3, 4})), w = wrap(values({4}, 1));
  const Operand b{w, kE};
  const auto refusal = [&](const std::function<void(CustomOpRule&)>& change, const NameList& out = kB) {
    return error_of([&] {
      CustomOpRule rule = square_of_dot();
      change(rule);
      Array p = x;
      const std::vector<Array*> parameters{&p};
      value_and_grad(parameters, [&] {
        const Array y = CustomOp(rule)({Operand{p, kBe}, b}, out);
        return reduce(Reduction::sum, {y, out}, out);
      });
    });
  };
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.name.clear(); }), "custom op: it has no name");
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.backward = nullptr; }),
            "square_of_dot: a custom op needs forward and backward");
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.summed = {"b"}; }),
            "square_of_dot: axis b is in both `cut` and `summed`");
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.cut = {"e"}; }),
            "square_of_dot: axis e may be cut, but the result [b] lacks it\n"
            "hint: name it in `summed` if the op adds up over it");
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.cut = {}, r.summed = {"b"}; }),
            "square_of_dot: axis b is summed, but the result [b] has it");
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.forward = [](In in) { return in[1].array; }; }),
            "square_of_dot: forward returned [b=4], which must be [b=3]");
  EXPECT_EQ(refusal([](CustomOpRule& r) { r.forward = [](In) { return Array(); }; }),
            "square_of_dot: forward returned nothing");
  EXPECT_EQ(refusal([](CustomOpRule& r) {
              r.backward = [](In, const Operand&, const Operand&) { return std::vector<Array>(1); };
            }),
            "square_of_dot: backward returned 1 gradients for 2 inputs");
  EXPECT_EQ(refusal([](CustomOpRule& r) {
              r.backward = [](In, const Operand&, const Operand& g) {
                return std::vector<Array>{g.array, {}};
              };
            }),
            "square_of_dot: backward returned [?=3] of f32 as the gradient of input 0, [b=3, e=4] of f32");
}

}  // namespace
}  // namespace bora::core
