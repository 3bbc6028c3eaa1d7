// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/named/grad.h"

#include <gtest/gtest.h>

#include "bora/named/ops.h"
#include "bora/named/test_values.h"

namespace bora {
namespace {

using testing::at;
using testing::expect_each;
using testing::same_bits;

struct Batch : axis<"batch"> {};
struct In : axis<"in"> {};
struct Out : axis<"out"> {};

struct Affine {
  static constexpr std::string_view kind = "Affine";
  using in = Axes<In>;
  Named<Out, In> weight;
  Named<Out> bias;
  double scale = 1;
  using fields = Fields<&Affine::weight, &Affine::bias, &Affine::scale>;

  static Affine make(std::uint64_t seed) {
    auto [w, b] = Key::from_seed(seed).split<2>();
    return {random_normal(w, 0, 1, Dim<Out>{2}, Dim<In>{3}), random_normal(b, 0, 1, Dim<Out>{2}), 0.5};
  }
  Named<Batch, Out> operator()(const Named<Batch, In>& x) const {
    return (dot<In>(x, weight) + bias) * scale;
  }
};

struct Block {
  static constexpr std::string_view kind = "Block";
  Affine first;
  std::optional<Affine> second;
  std::vector<Affine> more;
  using fields = Fields<&Block::first, &Block::second, &Block::more>;
};

struct List {
  static constexpr bool elements_only = true;
  std::vector<Affine> all;
  using fields = Fields<&List::all>;
};
struct Model {
  static constexpr std::string_view kind = "Model";
  Named<In> weight;  // a weight without declared inputs
  Block block;
  List list;
  using fields = Fields<&Model::weight, &Model::block, &Model::list>;
};

std::vector<std::string> paths(auto& model) {
  std::vector<std::string> out;
  for (auto& p : parameters(model)) out.push_back(p.path);
  return out;
}

TEST(Parameters, PathsKindsAxesInputsInOrder) {
  Model model{ones(Dim<In>{3}),
              {Affine::make(1), Affine::make(2), {Affine::make(3), Affine::make(4)}},
              {{Affine::make(5)}}};
  EXPECT_EQ(paths(model), (std::vector<std::string>{
                              "weight", "block.first.weight", "block.first.bias", "block.second.weight",
                              "block.second.bias", "block.more.0.weight", "block.more.0.bias",
                              "block.more.1.weight", "block.more.1.bias", "list.0.weight", "list.0.bias"}));
  auto all = parameters(model);
  EXPECT_EQ(all[0].module, "Model");
  EXPECT_TRUE(all[0].inputs.empty());
  EXPECT_EQ(all[1].module, "Model.Block.Affine");
  EXPECT_EQ(all[1].axes, (std::vector<std::string_view>{"out", "in"}));
  EXPECT_EQ(all[1].inputs, (std::vector<std::string_view>{"in"}));
  EXPECT_TRUE(all[2].inputs.empty());
  EXPECT_EQ(all[9].module, "Model.Affine");
  EXPECT_EQ(all[9].id, 9u);
  EXPECT_EQ(all[9].role, core::Role::weight);
  EXPECT_EQ(all[10].role, core::Role::bias);
  EXPECT_TRUE(all[10].trainable);
  EXPECT_EQ(all[1].array, &model.block.first.weight.mutable_array());
  EXPECT_EQ(parameter_count(model), 3 + 5 * (6 + 2));
}

TEST(Parameters, EmptyOnesAreNotThere) {
  Model model;
  EXPECT_TRUE(paths(model).empty());
  model.block.first = Affine::make(1);
  model.block.first.bias = {};
  EXPECT_EQ(paths(model), (std::vector<std::string>{"block.first.weight"}));
  EXPECT_EQ(parameter_count(model), 6);
}

// loss = mean((scale·(x·w + b) - y)²): dL/dw = 2/n · scale · (error)ᵀ·x, dL/db = 2/n · scale · sum error.
TEST(ValueAndGrad, OfTwoParametersByHand) {
  auto model = Affine::make(1);
  auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{4}, Dim<In>{3});
  auto y = random_normal(Key::from_seed(3), 0, 1, Dim<Out>{2}, Dim<Batch>{4});
  auto [value, gradients] =
      value_and_grad(model, [&](const Affine& m) { return mean_all(square(m(x) - y)); });
  auto prediction = at(model(x));
  auto error = [&](auto n, auto o) { return static_cast<double>(prediction(n, o)) - at(y)(o, n); };
  double loss = 0;
  for (int n = 0; n < 4; ++n)
    for (int o = 0; o < 2; ++o) loss += error(n, o) * error(n, o) / 8;
  EXPECT_NEAR(value.item(), loss, 1e-5);
  expect_each(gradients.weight, {2, 3}, [&](auto o, auto i) {
    double g = 0;
    for (int n = 0; n < 4; ++n) g += 2.0 / 8 * 0.5 * error(n, o) * at(x)(n, i);
    return g;
  });
  expect_each(gradients.bias, {2}, [&](auto o) {
    double g = 0;
    for (int n = 0; n < 4; ++n) g += 2.0 / 8 * 0.5 * error(n, o);
    return g;
  });
  EXPECT_EQ(gradients.scale, 0.5);  // what is no parameter is copied
}

TEST(ValueAndGrad, ZerosForWhatIsNotUsedAndModelIsUntouched) {
  auto model = Affine::make(1);
  auto before = model.weight.to_vector();
  auto gradients = value_and_grad(model, [](const Affine& m) { return total(m.bias); }).gradients;
  expect_each(
      gradients.weight, {2, 3}, [](auto...) { return 0; }, 0);
  expect_each(
      gradients.bias, {2}, [](auto...) { return 1; }, 0);
  EXPECT_EQ(model.weight.to_vector(), before);
}

TEST(ValueAndGrad, StopGradient) {
  auto model = Affine::make(1);
  auto gradients =
      value_and_grad(model, [](const Affine& m) { return total(m.bias * stop_gradient(m.bias)); }).gradients;
  EXPECT_TRUE(same_bits(gradients.bias, model.bias));
}

TEST(Remat, SameBitsWithDropoutInside) {
  auto model = Affine::make(1);
  auto x = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{4}, Dim<In>{3});
  auto key = Key::from_seed(9);
  int calls = 0;
  auto loss = [&](bool again) {
    return value_and_grad(model, [&](const Affine& m) {
      auto body = [&m, &calls, key](const Named<Batch, In>& h) {
        ++calls;
        return dropout(tanh(rename<Out, In>(slice<Out>(m(h), 0, 2))), 0.4, key) * 3;
      };
      auto h = slice<In>(x, 0, 3) * 1.5;
      if (again) return total(square(remat(body, h)));
      return total(square(body(h)));
    });
  };
  auto plain = loss(false);
  EXPECT_EQ(calls, 1);
  auto repeated = loss(true);
  EXPECT_EQ(calls, 3);  // once forward, once more backward
  EXPECT_TRUE(same_bits(plain.value, repeated.value));
  EXPECT_TRUE(same_bits(plain.gradients.weight, repeated.gradients.weight));
  EXPECT_TRUE(same_bits(plain.gradients.bias, repeated.gradients.bias));
}

TEST(Remat, OutsideOfAGradientJustRuns) {
  auto x = random_normal(Key::from_seed(2), 0, 1, Dim<In>{3});
  EXPECT_TRUE(same_bits(remat([](const Named<In>& h) { return exp(h); }, x), exp(x)));
}

}  // namespace
}  // namespace bora
