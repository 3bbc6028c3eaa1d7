// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/grad.h"

#include <gtest/gtest.h>

#include "bora/core/elementwise.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using testing::error_of;
using testing::integers;

const NameList kNone;

Array scalar(double value) {
  return wrap(at::Tensor(at::_ops::arange::call(1, at::kFloat, {}, {}, {})).add(value).reshape({}));
}

Array square(const Array& x) { return unary(Unary::square, {x, kNone}); }

TEST(Grad, IsRefusedInsideAnother) {
  Array x = scalar(3), y = scalar(5);
  std::vector<Array*> outer{&x}, inner{&y};
  const auto nested = [&](const std::function<void()>& second) {
    return error_of([&] {
      value_and_grad(outer, [&] {
        second();
        return square(x);
      });
    });
  };
  const std::string rest =
      ": called inside a function that is being differentiated; the result would count as a constant "
      "there\nhint: take the inner gradients before, outside of that function; products with second "
      "derivatives are core::hessian_vector_product";
  EXPECT_EQ(nested([&] { value_and_grad(inner, [&] { return square(y); }); }), "value_and_grad" + rest);
  Array into;
  EXPECT_EQ(nested([&] { accumulate_gradients(inner, [&] { return square(y); }, {&into, 1}); }),
            "value_and_grad" + rest);
  EXPECT_EQ(nested([&] { stream_gradients(inner, [&] { return square(y); }, [](std::size_t, Array) {}); }),
            "stream_gradients" + rest);
}

TEST(Grad, RefusesWhatHasNone) {
  Array x = scalar(3), whole = wrap(integers({2}, 5)), nothing;
  const auto refusal = [&](Array& p) {
    std::vector<Array*> parameters{&x, &p};
    return error_of([&] { value_and_grad(parameters, [&] { return square(x); }); });
  };
  EXPECT_EQ(refusal(whole), "value_and_grad: parameter 1 of 2 holds i64, which has no gradient");
  EXPECT_EQ(refusal(nothing), "value_and_grad: parameter 1 of 2 is empty (it was never given a value)");
  EXPECT_FALSE(recording());
}

TEST(Grad, WorksAfterARefusal) {
  Array x = scalar(3), y = scalar(5);
  std::vector<Array*> outer{&x}, inner{&y};
  error_of(
      [&] { value_and_grad(outer, [&] { return value_and_grad(inner, [&] { return square(y); }).value; }); });
  EXPECT_FALSE(recording());
  const auto first = value_and_grad(inner, [&] { return square(y); });
  const auto second = value_and_grad(outer, [&] { return square(x); });
  EXPECT_EQ(first.gradients[0].item(), 10);
  EXPECT_EQ(second.gradients[0].item(), 6);
}

}  // namespace
}  // namespace bora::core
