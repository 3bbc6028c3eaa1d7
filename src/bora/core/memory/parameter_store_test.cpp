// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/parameter_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bora/core/checkpoint.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/host_view.h"
#include "bora/core/reduce.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

constexpr std::string_view kOnlyAxis[] = {"x"};

using Arrays = std::vector<Array>;

Array three(float a, float b, float c) {
  const float values[] = {a, b, c};
  const std::int64_t size = 3;
  return from_data({kOnlyAxis, Sizes(&size, 1)}, std::span<const float>(values));
}

// Keeps the values of two parameters in drawers and has at most one of them out.
class Drawers : public ParameterStore {
 public:
  void put(Array& x) {
    drawers_.emplace_back(x, x.to_vector<float>());
    drop_values(x);
  }
  void created(Array& x, Names) override { put(x); }
  void hold(std::span<const Array>) override {}
  void need(std::span<const Array> wanted) override {
    for (auto& [array, values] : drawers_) {
      if (array.node() != wanted[0].node()) {
        drop_values(array);
      } else if (!values_present(array)) {
        make_room(array);
        std::copy(values.begin(), values.end(), HostView(array, HostView::Use::write).floats().begin());
        ++fetched;
      }
    }
  }
  int fetched = 0;

 private:
  std::vector<std::pair<Array, std::vector<float>>> drawers_;
};

Array times(const Array& a, const Array& b) {
  return binary(Binary::multiply, {a, kOnlyAxis}, {b, kOnlyAxis}, kOnlyAxis);
}

TEST(ParameterStore, ValuesAreThereInBothPasses) {
  const Array x = three(1, 2, 3);
  Array a = three(2, 3, 4), b = three(5, 6, 7);
  std::vector<Array*> parameters{&a, &b};
  const auto f = [&] {
    const Array h = with_parameters({a}, [&] { return Arrays{times(x, times(a, a))}; })[0];
    const Array y = with_parameters({b}, [&] { return Arrays{times(h, times(b, b))}; })[0];
    return reduce(Reduction::sum, {y, kOnlyAxis}, kOnlyAxis);
  };
  const auto want = value_and_grad(parameters, f);

  Drawers drawers;
  const ParameterStoreScope scope(drawers);
  drawers.put(a);
  drawers.put(b);
  std::vector<std::vector<float>> gradients(2);
  std::string order;
  const Array value = stream_gradients(parameters, f, [&](std::size_t i, const Array& g) {
    gradients[i] = g.to_vector<float>();
    order += std::to_string(i);
  });
  EXPECT_EQ(value.item(), want.value.item());
  EXPECT_EQ(order, "10");  // as the backward pass comes to them
  for (std::size_t i : {0, 1}) EXPECT_EQ(gradients[i], want.gradients[i].to_vector<float>());
  EXPECT_EQ(drawers.fetched, 3);  // b is still there when the backward pass begins
}

TEST(ParameterStore, ScopesNestAndEnd) {
  EXPECT_EQ(parameter_store(), nullptr);
  Drawers outer, inner;
  {
    const ParameterStoreScope a(outer);
    {
      const ParameterStoreScope b(inner);
      EXPECT_EQ(parameter_store(), &inner);
    }
    EXPECT_EQ(parameter_store(), &outer);
  }
  EXPECT_EQ(parameter_store(), nullptr);
}

TEST(ParameterStore, APartOfAnotherArrayCannotBeDropped) {
  const Array x = three(1, 2, 3);
  Array part = wrap(tensor(x).narrow(0, 1, 1));
  EXPECT_EQ(testing::error_of([&] { drop_values(part); }),
            "parameter store: an array of 1 elements is a part of another one");
}

TEST(StreamGradients, RefusesAGradientInParts) {
  Array a = three(2, 3, 4);
  std::vector<Array*> parameters{&a};
  const Array x = three(1, 2, 3);
  const auto again = [&](std::span<const Array> in) { return std::vector<Array>{times(in[0], a)}; };
  const auto f = [&] {
    const auto once = checkpoint(again, std::span(&x, 1));
    const auto twice = checkpoint(again, once);
    return reduce(Reduction::sum, {twice[0], kOnlyAxis}, kOnlyAxis);
  };
  const auto message =
      testing::error_of([&] { stream_gradients(parameters, f, [](std::size_t, const Array&) {}); });
  EXPECT_NE(message.find("parameter 0 gets its gradient in parts"), std::string::npos) << message;
  EXPECT_NE(message.find("turn gradient_checkpointing off"), std::string::npos) << message;
}

}  // namespace
}  // namespace bora::core
