// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/lora.h"

#include <gtest/gtest.h>

#include "bora/named/grad.h"
#include "bora/named/test_values.h"

namespace bora::nn {
namespace {

using testing::at;
using testing::error_of;
using testing::expect_each;
using testing::same_bits;

struct Batch : axis<"batch"> {};
struct Embed : axis<"embed"> {};
struct Head : axis<"head"> {};
struct HeadDim : axis<"head_dim"> {};
struct Vocab : axis<"vocab"> {};

using Heads = Axes<Head, HeadDim>;

struct Layer {
  Linear<Embed, Heads> q_proj;
  Linear<Heads, Embed> o_proj;
  using fields = Fields<&Layer::q_proj, &Layer::o_proj>;
  Named<Batch, Embed> operator()(const Named<Batch, Embed>& x) const { return x + o_proj(tanh(q_proj(x))); }
};
struct Model {
  std::vector<Layer> layers;
  Linear<Embed, Vocab> lm_head;
  using fields = Fields<&Model::layers, &Model::lm_head>;

  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  Named<Batch, Vocab> operator()(Named<Batch, Embed> x) const {
    for (const auto& layer : layers) x = layer(x);
    return lm_head(x);
  }
};

Model make_model() {
  const auto key = Key::from_seed(1);
  const SizesOf<Axes<Embed>> embed{Dim<Embed>{6}};
  const SizesOf<Heads> heads{Dim<Head>{2}, Dim<HeadDim>{4}};
  Model model;
  for (std::uint64_t i = 0; i < 2; ++i)
    model.layers.push_back({Linear<Embed, Heads>::init(embed, heads, key.fold(2 * i), 0.5),
                            Linear<Heads, Embed>::init(heads, embed, key.fold(2 * i + 1), 0.5)});
  model.lm_head = Linear<Embed, Vocab>::init(embed, Dim<Vocab>{5}, key.fold("head"), 0.5, false);
  return model;
}

const Named<Batch, Embed> kX = random_normal(Key::from_seed(2), 0, 1, Dim<Batch>{3}, Dim<Embed>{6});

Named<> loss_of(const Model& m) { return mean_all(square(m(kX))); }

// B away from zero.
void stir(Model& model) {
  for (auto& p : parameters(model)) {
    if (p.role != core::Role::adapter) continue;
    *p.array = core::random_normal(Key::from_seed(3).fold(p.path), {p.axes, p.array->sizes()}, 0, 0.3);
  }
}

TEST(Lora, StartsAsTheModelAndTrainsTheAdaptersAlone) {
  const auto plain = make_model();
  auto model = plain;
  EXPECT_EQ(attach_lora(model, {.modules = {"*.q_proj"}, .rank = 2}, Key::from_seed(4)),
            (std::vector<std::string>{"layers.0.q_proj", "layers.1.q_proj"}));
  EXPECT_TRUE(same_bits(model(kX), plain(kX)));
  std::string trained;
  for (const auto& p : core::trainable_parameters(parameters(model)))
    trained += p.path + core::describe({*p.array, p.axes}) + " ";
  EXPECT_EQ(trained,
            "layers.0.q_proj.lora.a.weight[lora_rank=2, embed=6] "
            "layers.0.q_proj.lora.b.weight[head=2, head_dim=4, lora_rank=2] "
            "layers.1.q_proj.lora.a.weight[lora_rank=2, embed=6] "
            "layers.1.q_proj.lora.b.weight[head=2, head_dim=4, lora_rank=2] ");
  EXPECT_FALSE(same_bits(model.layers[0].q_proj.lora->a.weight, model.layers[1].q_proj.lora->a.weight));
}

TEST(Lora, AllMapsButTheHeadByDefault) {
  auto model = make_model();
  EXPECT_EQ(
      attach_lora(model, {}, Key::from_seed(4)),
      (std::vector<std::string>{"layers.0.q_proj", "layers.0.o_proj", "layers.1.q_proj", "layers.1.o_proj"}));
}

// Against W·x + scale·B·(A·x), written out.
TEST(Lora, GradientsOfThePlainComposition) {
  struct Plain {
    Named<LoraRank, Embed> a;
    Named<Vocab, LoraRank> b;
    using fields = Fields<&Plain::a, &Plain::b>;
  };
  auto model = make_model();
  attach_lora(model, {.modules = {"lm_head"}, .rank = 3, .alpha = 6}, Key::from_seed(4));
  stir(model);
  const auto got = value_and_grad(model, loss_of);
  const auto& lora = *model.lm_head.lora;
  EXPECT_EQ(lora.shape.scale(), 2);
  Plain plain{lora.a.weight, lora.b.weight};
  const auto want = value_and_grad(plain, [&](const Plain& p) {
    auto x = kX;
    for (const auto& layer : model.layers) x = layer(x);
    const auto low = dot<LoraRank>(dot<Embed>(x, p.a), p.b);
    return mean_all(square(dot<Embed>(x, model.lm_head.weight) + low * 2.0));
  });
  EXPECT_NEAR(got.value.item(), want.value.item(), 1e-5);
  const auto& of = *got.gradients.lm_head.lora;
  expect_each(of.a.weight, {3, 6}, [&](auto i, auto j) { return at(want.gradients.a)(i, j); }, 1e-5);
  expect_each(of.b.weight, {5, 3}, [&](auto i, auto j) { return at(want.gradients.b)(i, j); }, 1e-5);
  EXPECT_TRUE(got.gradients.lm_head.weight.empty());
  EXPECT_TRUE(got.gradients.layers[0].q_proj.weight.empty());
}

TEST(Lora, MergedItComputesTheSame) {
  auto model = make_model();
  attach_lora(model, {.rank = 2, .rank_stabilized = true}, Key::from_seed(4));
  stir(model);
  const auto adapted = model(kX);
  auto before = make_model();
  auto merged = model;
  merge_lora(merged);
  EXPECT_EQ(parameters(merged).size(), parameters(before).size());
  EXPECT_TRUE(parameters(merged)[0].trainable);
  EXPECT_FALSE(same_bits(before(kX), adapted));
  expect_each(  // values up to 10
      merged(kX), {3, 5}, [&](auto i, auto j) { return at(adapted)(i, j); }, 1e-5);
}

TEST(Lora, WrongPatternsAreToldTogether) {
  auto model = make_model();
  EXPECT_EQ(error_of([&] {
              attach_lora(model, {.modules = {"*.q_prj", "*.k_proj"}, .rank = 0, .dropout = 1},
                          Key::from_seed(1));
            }),
            "lora: the rank must be at least 1 but is 0\n"
            "lora: dropout must be from 0 to below 1 but is 1\n"
            "lora: *.q_prj selects no linear map; did you mean `*.q_proj`?\n"
            "lora: *.k_proj selects no linear map; did you mean `*.q_proj`?");
  EXPECT_FALSE(model.layers[0].q_proj.lora);
}

TEST(Lora, EachMapItsOwnShape) {
  auto model = make_model();
  attach_adapters(
      model, {{"layers.1.o_proj", {.rank = 3, .alpha = 6}}, {"layers.0.q_proj", {.rank = 1, .alpha = 5}}},
      Key::from_seed(4));
  std::string adapted;
  for (const auto& map : linear_maps(model))
    adapted +=
        fmt::format("{}{} {}; ", map.path, map.head ? " (head)" : "", map.adapter ? map.adapter->scale() : 0);
  EXPECT_EQ(adapted,
            "layers.0.q_proj 5; layers.0.o_proj 0; layers.1.q_proj 0; layers.1.o_proj 2; lm_head (head) 0; ");
  EXPECT_EQ(error_of([&] {
              attach_adapters(model, {{"layers.0.q_prj", {}}, {"lm_head", {.rank = 0}}}, Key::from_seed(4));
            }),
            "lora: the model has no linear map layers.0.q_prj; did you mean `layers.0.q_proj`?\n"
            "lora: the rank must be at least 1 but is 0");
}

// Of the input, by the key and the path: W·x + scale·B·(A·dropout(x)).
TEST(Lora, DropsInputsByKeyAndPath) {
  auto model = make_model();
  attach_lora(model, {.rank = 2, .dropout = 0.5}, Key::from_seed(4));
  stir(model);
  const auto without = model(kX);
  const auto with = [&](std::uint64_t seed) {
    auto copy = model;
    drop_inputs(copy, Key::from_seed(seed));
    return copy(kX);
  };
  EXPECT_TRUE(same_bits(model(kX), without));
  EXPECT_TRUE(same_bits(with(1), with(1)));
  EXPECT_FALSE(same_bits(with(1), with(2)));
  EXPECT_FALSE(same_bits(with(1), without));

  attach_lora(model, {.modules = {"lm_head"}, .rank = 2, .dropout = 0.5}, Key::from_seed(4));
  stir(model);
  drop_inputs(model, Key::from_seed(1));
  const auto& map = model.lm_head;
  const auto x = bora::dropout(kX, 0.5, Key::from_seed(1).fold("lora").fold("lm_head"));
  const auto low = dot<LoraRank>(dot<Embed>(x, map.lora->a.weight), map.lora->b.weight);
  const auto want = dot<Embed>(kX, map.weight) + low * 4.0;
  expect_each(map(kX), {3, 5}, [&](auto i, auto j) { return at(want)(i, j); }, 1e-5);
}

TEST(Lora, InSixteenBits) {
  auto model = make_model();
  attach_lora(model, {.rank = 2}, Key::from_seed(4));
  stir(model);
  const auto half = cast_parameters(model, core::DType::bf16);
  const auto y = cast(half(cast(kX, core::DType::bf16)), core::DType::f32), want = model(kX);
  expect_each(y, {3, 5}, [&](auto i, auto j) { return at(want)(i, j); }, 0.2);
}

}  // namespace
}  // namespace bora::nn
