// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/grad.h"

#include <gtest/gtest.h>

#include "bora/core/cast_once.h"
#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/plain_ops.h"
#include "bora/core/torch/testing.h"
#include "bora/core/update.h"

namespace bora::core {
namespace {

using testing::error_of;
using testing::integers;

const NameList kNone;

Array scalar(double value) {
  return wrap(at::Tensor(at::_ops::arange::call(1, at::kFloat, {}, {}, {})).add(value).reshape({}));
}

// On the device of the test.
Array filled(double value) { return full({{}, {}}, value, DType::f32); }

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
  EXPECT_EQ(nested([&] { accumulate_gradients(inner, [&] { return square(y); }, {{&into, 1}}); }),
            "value_and_grad" + rest);
  EXPECT_EQ(nested([&] { stream_gradients(inner, [&] { return square(y); }, [](std::size_t, Array) {}); }),
            "stream_gradients" + rest);
}

// The second block is computed again first: x gets its gradient in three parts, two of them of blocks.
TEST(Grad, AddsToWhatIsThere) {
  Array x = filled(3), y = filled(5), unused = filled(7);
  std::vector<Array*> parameters{&x, &y, &unused};
  std::vector<Array> into{filled(100), filled(200), filled(300)};
  const std::vector<const void*> places{tensor(into[0]).const_data_ptr(), tensor(into[1]).const_data_ptr(),
                                        tensor(into[2]).const_data_ptr()};
  const auto block = [&](std::span<const Array> inputs) {
    return std::vector{binary(Binary::multiply, {inputs[0], kNone}, {x, kNone}, kNone)};
  };
  const auto value =
      accumulate_gradients(parameters,
                           [&] {
                             std::vector<Array> h{square(y)};  // 25
                             for (int i = 0; i < 2; ++i) h = checkpoint(block, h);
                             return binary(Binary::add, {h[0], kNone}, {square(x), kNone}, kNone);
                           },
                           {into});
  EXPECT_EQ(value.item(), 9 * 25 + 9);
  EXPECT_EQ(into[0].item(), 100 + 2 * 3 * 25 + 2 * 3);
  EXPECT_EQ(into[1].item(), 200 + 2 * 5 * 9);
  EXPECT_EQ(into[2].item(), 300);
  for (std::size_t i = 0; i < into.size(); ++i) EXPECT_EQ(tensor(into[i]).const_data_ptr(), places[i]) << i;
  EXPECT_FALSE(recording());
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

// By the kernels' cast and by libtorch's.
TEST(Grad, ParametersAreCastOnceInAScope) {
  Array x = scalar(3), y = scalar(5);
  std::vector<Array*> trained{&x, &y};
  const std::vector<Parameter> parameters{{.array = &x}};
  const auto low = [](const Array& a) { return cast({a, kNone}, DType::bf16); };
  const auto memory = [](const Array& a) { return tensor(a).const_data_ptr(); };
  for (const bool plain : {false, true}) {
    const PlainOpsScope ops(plain);
    const auto outside = low(x), again = low(x);
    EXPECT_NE(memory(outside), memory(again));
    const CastOnceScope once(parameters);
    const auto first = low(x), second = low(x), other = low(y), another = low(y);
    EXPECT_EQ(memory(first), memory(second));
    EXPECT_NE(memory(other), memory(another)) << "of no parameter";
    const auto shorter = cast({x, kNone}, DType::f16), longer = cast({x, kNone}, DType::f64);
    EXPECT_EQ(shorter.item() + longer.item(), 6) << "other types are made as ever";
    for (int lane = 0; lane < 2; ++lane) {
      const auto result = value_and_grad(trained, [&] {
        const Array here = low(x);
        EXPECT_EQ(memory(here), memory(first)) << lane;
        const Array product = binary(Binary::multiply, {here, kNone}, {low(y), kNone}, kNone);
        return cast({product, kNone}, DType::f32);
      });
      EXPECT_EQ(result.gradients[0].item(), 5);
      EXPECT_EQ(result.gradients[1].item(), 3);
      EXPECT_EQ(result.gradients[0].dtype(), DType::f32);
    }
  }
}

// Parts lie in the parameter's memory, and may be as large as each other.
TEST(Grad, PartsOfAParameterAreNotTakenForOneAnother) {
  static constexpr std::string_view kNames[] = {"n"};
  static constexpr std::int64_t kSizes[] = {4};
  const std::vector<float> values{1, 2, 3, 4};
  Array x = from_data({kNames, kSizes}, std::span<const float>(values));
  const std::vector<Parameter> parameters{{.array = &x}};
  const CastOnceScope once(parameters);
  const auto half = [&](std::int64_t first) {
    const Array low = cast({read_slice(x, 0, first, 2), kNames}, DType::bf16);
    return cast({low, kNames}, DType::f32).to_vector<float>();
  };
  EXPECT_EQ(half(0), (std::vector<float>{1, 2}));
  EXPECT_EQ(half(2), (std::vector<float>{3, 4}));
}

}  // namespace
}  // namespace bora::core
