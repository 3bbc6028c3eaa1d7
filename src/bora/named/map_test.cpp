// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/map.h"

#include <gtest/gtest.h>

#include <optional>

#include "bora/named/ops.h"
#include "bora/named/test_values.h"

namespace bora {
namespace {

using testing::error_of;

struct A : axis<"a"> {};
struct B : axis<"b"> {};

struct Layer {
  Named<A, B> weight;
  Named<A> bias;
  double scale = 1;
  using fields = Fields<&Layer::weight, &Layer::bias, &Layer::scale>;
};
struct Model {
  Layer first;
  std::optional<Layer> second;
  std::vector<Layer> more;
  std::vector<double> numbers;
  using fields = Fields<&Model::first, &Model::second, &Model::more, &Model::numbers>;
};

Layer layer(double x) { return {full(x, Dim<A>{2}, Dim<B>{1}), full(x + 1, Dim<A>{2}), x}; }
std::vector<float> firsts(Model model) {
  std::vector<float> out;
  for (const auto& p : parameters(model)) out.push_back(p.array->to_vector<float>()[0]);
  return out;
}

TEST(MapParameters, OfOneTwoAndThreeModelsSideBySide) {
  const Model a{layer(1), layer(10), {layer(100), layer(1000)}, {7}};
  const Model b{layer(2), layer(20), {layer(200), layer(2000)}, {8}};
  const Model doubled = map_parameters(a, [](const auto& p) { return p * 2; });
  EXPECT_EQ(firsts(doubled), (std::vector<float>{2, 4, 20, 22, 200, 202, 2000, 2002}));
  EXPECT_EQ(firsts(map_parameters(b, a, [](auto& q, auto& p) { return q - p; })),
            (std::vector<float>{1, 1, 10, 10, 100, 100, 1000, 1000}));
  EXPECT_EQ(firsts(map_parameters(a, a, b, [](auto& p, auto& q, auto& r) { return p + q - r; })),
            (std::vector<float>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(firsts(a)[0], 1) << "the model itself stays";
  EXPECT_EQ(doubled.first.scale, 1) << "what is no parameter is copied";
  EXPECT_EQ(doubled.numbers, a.numbers);
}

TEST(MapParameters, WhatIsEmptyStaysEmpty) {
  Model a{layer(1), {}, {}, {}};
  a.first.bias = {};
  EXPECT_EQ(firsts(map_parameters(a, a, [](auto& p, auto& q) { return p + q; })), (std::vector<float>{2}));
}

TEST(MapParameters, ModelsAreMadeAlike) {
  const Model a{layer(1), {}, {}, {}}, b{layer(1), layer(2), {}, {}};
  const auto sum = [](const auto& p, const auto& q) { return p + q; };
  EXPECT_EQ(error_of([&] { map_parameters(a, b, sum); }),
            "map_parameters: where one model has the parameter nothing, the other has second.weight\n"
            "hint: both must be made alike");
  EXPECT_EQ(error_of([&] { map_parameters(b, a, sum); }),
            "map_parameters: where one model has the parameter second.weight, the other has nothing\n"
            "hint: both must be made alike");
}

}  // namespace
}  // namespace bora
