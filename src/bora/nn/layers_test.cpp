// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Norms, linear maps, MLPs and embeddings against their formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "bora/named/grad.h"
#include "bora/named/test_values.h"
#include "bora/nn/clip.h"
#include "bora/nn/dropout.h"
#include "bora/nn/embedding.h"
#include "bora/nn/linear.h"
#include "bora/nn/mlp.h"
#include "bora/nn/norm.h"

namespace bora::nn {
namespace {

using testing::at;
using testing::error_of;
using testing::expect_each;
using testing::same_bits;

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Head : axis<"head"> {};
struct HeadDim : axis<"head_dim"> {};
struct Mlp : axis<"mlp"> {};
struct Vocab : axis<"vocab"> {};

const Named<Pos, Embed> kX = random_normal(Key::from_seed(1), 0.5, 2, Dim<Pos>{3}, Dim<Embed>{6});
const Named<Embed> kWeight = random_normal(Key::from_seed(2), 1, 0.2, Dim<Embed>{6});
const Named<Embed> kBias = random_normal(Key::from_seed(3), 0, 1, Dim<Embed>{6});

struct Moments {
  double mean = 0, var = 0, square = 0;
};
Moments moments(std::int64_t p) {
  Moments m;
  for (int e = 0; e < 6; ++e) m.mean += at(kX)(p, e) / 6.0;
  for (int e = 0; e < 6; ++e) m.var += std::pow(at(kX)(p, e) - m.mean, 2) / 6;
  for (int e = 0; e < 6; ++e) m.square += std::pow(at(kX)(p, e), 2) / 6;
  return m;
}

TEST(Norms, RmsNorm) {
  RmsNorm<Embed> norm{kWeight, 1e-3};
  expect_each(norm(kX), {3, 6}, [](auto p, auto e) {
    return at(kX)(p, e) / std::sqrt(moments(p).square + 1e-3) * at(kWeight)(e);
  });
  Named<Embed, Pos> turned = kX;
  expect_each(norm(turned), {6, 3}, [&](auto e, auto p) { return at(norm(kX))(p, e); }, 1e-6);
  expect_each(RmsNorm<Embed>::init(Dim<Embed>{6}, 1e-5).weight, {6}, [](auto) { return 1; }, 0);
}

TEST(Norms, RmsNormOverAxesTogether) {
  const RmsNorm<Axes<Pos, Embed>> norm{random_normal(Key::from_seed(4), 0, 1, Dim<Pos>{3}, Dim<Embed>{6}),
                                       1e-3};
  double square = 0;
  for (std::int64_t p = 0; p < 3; ++p) square += moments(p).square / 3;
  expect_each(norm(kX), {3, 6}, [&](auto p, auto e) {
    return at(kX)(p, e) / std::sqrt(square + 1e-3) * at(norm.weight)(p, e);
  });
}

TEST(Norms, RmsNormWithAnOffset) {
  const RmsNorm<Embed> norm{kWeight, 1e-3, 1};
  expect_each(norm(kX), {3, 6}, [](auto p, auto e) {
    return at(kX)(p, e) / std::sqrt(moments(p).square + 1e-3) * (1.0 + at(kWeight)(e));
  });
  const auto fresh = RmsNorm<Embed>::init(Dim<Embed>{6}, 1e-3, 1);
  expect_each(fresh.weight, {6}, [](auto) { return 0; }, 0);
  // The sum is not rounded to the dtype of the pass: 1 + 2^-10 is 1 there.
  const RmsNorm<Embed> narrow{cast(full(0x1p-10, Dim<Embed>{6}), core::DType::bf16), 1e-3, 1};
  const RmsNorm<Embed> wide{full(0x1p-10, Dim<Embed>{6}), 1e-3, 1};
  const auto x = cast(kX, core::DType::bf16);
  EXPECT_TRUE(same_bits(narrow(x), wide(x)));
}

TEST(Scaled, RoundsTheFactorFirst) {
  EXPECT_EQ(rounded(std::sqrt(3072.0), core::DType::bf16), 55.5);
  EXPECT_EQ(rounded(std::sqrt(3072.0), core::DType::f32), static_cast<double>(std::sqrt(3072.0F)));
  EXPECT_EQ(rounded(-1.0 / 3, core::DType::f16), -0.333251953125);
  EXPECT_EQ(rounded(0.1, core::DType::f64), 0.1);
  EXPECT_EQ(rounded(0, core::DType::bf16), 0);
  const auto ones = cast(full(1, Dim<Embed>{6}), core::DType::bf16);
  expect_each(cast(scaled(ones, std::sqrt(3072.0)), core::DType::f32), {6}, [](auto) { return 55.5; }, 0);
}

TEST(Norms, WithoutAWeight) {
  EXPECT_EQ(testing::error_of([] { RmsNorm<Embed>()(kX); }),
            "RmsNorm: it has no weight over [embed]\nhint: make it with RmsNorm::init");
  EXPECT_EQ(testing::error_of([] { LayerNorm<Embed>()(kX); }),
            "LayerNorm: it has no weight over [embed]\nhint: make it with LayerNorm::init");
}

TEST(Norms, LayerNorm) {
  LayerNorm<Embed> norm{kWeight, kBias, 1e-3};
  expect_each(norm(kX), {3, 6}, [](auto p, auto e) {
    auto m = moments(p);
    return (at(kX)(p, e) - m.mean) / std::sqrt(m.var + 1e-3) * at(kWeight)(e) + at(kBias)(e);
  });
  auto fresh = LayerNorm<Embed>::init(Dim<Embed>{6}, 1e-5);
  expect_each(fresh.bias, {6}, [](auto) { return 0; }, 0);
  LayerNorm<Embed> plain = LayerNorm<Embed>::init(Dim<Embed>{6}, 1e-3, /*with_bias=*/false);
  EXPECT_EQ(parameters(plain).size(), 1U);
  expect_each(plain(kX), {3, 6}, [](auto p, auto e) {
    auto m = moments(p);
    return (at(kX)(p, e) - m.mean) / std::sqrt(m.var + 1e-3);
  });
}

TEST(AtMost, LeavesWhatIsBelow) {
  Named<Embed> x = from_vector(std::vector<float>{-9, 0.8984375F, 0.90234375F, 3, 0, NAN}, Dim<Embed>{6});
  const auto y = at_most(x, 0.8984375).to_vector();
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 5),
            (std::vector<float>{-9, 0.8984375F, 0.8984375F, 0.8984375F, 0}));
  EXPECT_TRUE(std::isnan(y[5]));
  std::vector<core::Array*> inputs{&x.mutable_array()};
  const auto result = core::value_and_grad(inputs, [&] { return total(at_most(x, 0.8984375)).array(); });
  const auto gradient = result.gradients[0].to_vector<float>();
  EXPECT_EQ(std::vector<float>(gradient.begin(), gradient.begin() + 5), (std::vector<float>{1, 1, 0, 0, 1}));
}

// The ends get the whole gradient, and a limit is rounded as what it is compared with.
TEST(Clipped, LeavesWhatIsWithin) {
  const std::vector<float> values{-2, -0.8984375F, -0.5F, 0.8984375F, 0.90234375F, NAN};
  Named<Embed> x = from_vector(values, Dim<Embed>{6});
  const auto narrow = cast(clipped(cast(x, core::DType::bf16), 0.9), core::DType::f32).to_vector();
  EXPECT_EQ(std::vector<float>(narrow.begin(), narrow.begin() + 5),
            (std::vector<float>{-0.8984375F, -0.8984375F, -0.5F, 0.8984375F, 0.8984375F}));
  EXPECT_TRUE(std::isnan(narrow[5]));
  EXPECT_EQ(clipped(x, 0.75).to_vector()[0], -0.75F);
  std::vector<core::Array*> inputs{&x.mutable_array()};
  const auto result = core::value_and_grad(inputs, [&] { return total(clipped(x, 0.8984375)).array(); });
  const auto gradient = result.gradients[0].to_vector<float>();
  EXPECT_EQ(std::vector<float>(gradient.begin(), gradient.begin() + 5), (std::vector<float>{0, 1, 1, 1, 0}));
}

TEST(LinearLayer, FromOneAxisToSeveralAndBack) {
  auto split = Linear<Embed, Axes<Head, HeadDim>>::init(Dim<Embed>{6}, {Dim<Head>{2}, Dim<HeadDim>{4}},
                                                        Key::from_seed(4), 0.1);
  EXPECT_EQ(split.weight.array().sizes(), (std::vector<std::int64_t>{2, 4, 6}));
  split.bias = random_normal(Key::from_seed(5), 0, 1, Dim<Head>{2}, Dim<HeadDim>{4});
  auto y = split(kX);
  static_assert(std::is_same_v<decltype(y), Named<Pos, Head, HeadDim>>);
  expect_each(y, {3, 2, 4}, [&](auto p, auto h, auto d) {
    double s = at(split.bias)(h, d);
    for (int e = 0; e < 6; ++e) s += at(split.weight)(h, d, e) * at(kX)(p, e);
    return s;
  });
  auto merge = Linear<Axes<Head, HeadDim>, Embed>::init({Dim<Head>{2}, Dim<HeadDim>{4}}, Dim<Embed>{6},
                                                        Key::from_seed(6), 0.1, false);
  EXPECT_TRUE(merge.bias.empty());
  expect_each(merge(y), {3, 6}, [&](auto p, auto e) {
    double s = 0;
    for (int h = 0; h < 2; ++h)
      for (int d = 0; d < 4; ++d) s += at(merge.weight)(e, h, d) * at(y)(p, h, d);
    return s;
  });
}

TEST(LinearLayer, SeveralOfOneInputAreAsOneByOne) {
  const auto heads = Linear<Embed, Axes<Head, HeadDim>>::init(
      {Dim<Embed>{6}}, {Dim<Head>{2}, Dim<HeadDim>{3}}, Key::from_seed(4), 1);
  const auto mlp = Linear<Embed, Mlp>::init({Dim<Embed>{6}}, {Dim<Mlp>{5}}, Key::from_seed(5), 1, false);
  const auto [a, b] = linears(kX, heads, mlp);
  const Named<Pos, Head, HeadDim> want_a = heads(kX);
  const Named<Pos, Mlp> want_b = mlp(kX);
  EXPECT_TRUE(same_bits(a, want_a));
  EXPECT_TRUE(same_bits(b, want_b));
}

TEST(Mlps, GatedAndPlain) {
  auto [a, b, c] = Key::from_seed(7).split<3>();
  Dim<Embed> embed{6};
  Dim<Mlp> mlp{5};
  GatedMlp<Embed, Mlp> gated{Linear<Embed, Mlp>::init(embed, mlp, a, 0.5),
                             Linear<Embed, Mlp>::init(embed, mlp, b, 0.5),
                             Linear<Mlp, Embed>::init(mlp, embed, c, 0.5), core::Activation::silu};
  EXPECT_TRUE(gated(kX).array().sizes() == kX.array().sizes());
  auto expected = gated.down_proj(silu(gated.gate_proj(kX)) * gated.up_proj(kX));
  expect_each(gated(kX), {3, 6}, [&](auto p, auto e) { return at(expected)(p, e); });
  PlainMlp<Embed, Mlp> plain{gated.up_proj, gated.down_proj, core::Activation::gelu_tanh};
  auto simple = plain.down_proj(gelu_tanh(plain.up_proj(kX)));
  expect_each(plain(kX), {3, 6}, [&](auto p, auto e) { return at(simple)(p, e); });
}

TEST(Mlps, Activations) {
  EXPECT_EQ(parse_activation("silu"), core::Activation::silu);
  EXPECT_EQ(parse_activation("swish"), core::Activation::silu);
  EXPECT_EQ(parse_activation("gelu"), core::Activation::gelu);
  EXPECT_EQ(parse_activation("gelu_new"), core::Activation::gelu_tanh);
  EXPECT_EQ(parse_activation("gelu_pytorch_tanh"), core::Activation::gelu_tanh);
  EXPECT_EQ(parse_activation("quick_gelu"), core::Activation::quick_gelu);
  EXPECT_EQ(parse_activation("relu"), core::Activation::relu);
  EXPECT_EQ(
      error_of([] { parse_activation("cubic"); }),
      "activation cubic is not one of silu, swish, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu");
}

TEST(EmbeddingLayer, RowsOfTheTable) {
  auto table = Embedding<Vocab, Embed>::init(Dim<Vocab>{9}, Dim<Embed>{6}, Key::from_seed(8), 0.1);
  auto ids = indices_from_vector(std::vector<std::int32_t>{8, 0, 3, 3, 1, 7}, Dim<Batch>{2}, Dim<Pos>{3});
  expect_each(
      table(ids), {2, 3, 6}, [&](auto b, auto p, auto e) { return at(table.weight)(at(ids)(b, p), e); }, 0);
}

TEST(DropoutSites, OnlyWithAKey) {
  EXPECT_TRUE(same_bits(nn::dropout(kX, 0.5, {}, "here"), kX));
  Context training{.key = Key::from_seed(1)};
  EXPECT_TRUE(same_bits(nn::dropout(kX, 0, training, "here"), kX));
  EXPECT_FALSE(same_bits(nn::dropout(kX, 0.5, training, "here"), nn::dropout(kX, 0.5, training, "there")));
}

TEST(CastParameters, GradientsReachTheOriginals) {
  auto layer = Linear<Embed, Mlp>::init(Dim<Embed>{6}, Dim<Mlp>{5}, Key::from_seed(9), 0.5);
  auto half = cast_parameters(layer, core::DType::bf16);
  EXPECT_EQ(half.weight.dtype(), core::DType::bf16);
  EXPECT_EQ(layer.weight.dtype(), core::DType::f32);
  auto gradients = value_and_grad(layer, [](const auto& m) {
                     return total(cast(cast_parameters(m, core::DType::bf16).bias, core::DType::f32));
                   }).gradients;
  EXPECT_EQ(gradients.bias.dtype(), core::DType::f32);
  expect_each(gradients.bias, {5}, [](auto) { return 1; }, 0);
}

}  // namespace
}  // namespace bora::nn
