// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/stored_weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bora/base/error.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/index.h"
#include "bora/core/reduce.h"
#include "bora/core/step_ops.h"

namespace bora::core {
namespace {

constexpr std::array<std::string_view, 3> kWeightAxes{"head", "dim", "embed"};
constexpr std::array<std::string_view, 2> kRowAxes{"row", "embed"}, kTable{"vocab", "embed"};
constexpr std::array<std::string_view, 3> kHeadAxes{"row", "head", "dim"};

Array some(Names names, std::vector<std::int64_t> sizes, float from) {
  std::int64_t n = 1;
  for (const auto size : sizes) n *= size;
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(from + 0.37F * static_cast<float>((i * 7919) % 101) - 18);
  return from_data({names, sizes}, std::span<const float>(values));
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(StoredWeight, ProductsAndLookUpsAreThoseOfTheRoundedWeight) {
  for (const auto type : {WeightType::bf16, WeightType::int8}) {
    auto kept = some(kWeightAxes, {3, 5, 8}, 0.1F), rounded = kept.clone();
    const auto bias = some(Names(kWeightAxes).first(2), {3, 5}, 0.5F), x = some(kRowAxes, {4, 8}, 0.3F);
    store_weight(kept, 2, type);
    round_weight(rounded, 2, type);
    EXPECT_EQ(stored_type(kept), type);
    EXPECT_EQ(stored_type(rounded), WeightType::f32);
    EXPECT_EQ(stored_bytes(kept), type == WeightType::bf16 ? 240 : 120 + 15 * 4);
    EXPECT_EQ(stored_bytes(rounded), 480);
    EXPECT_EQ(kept.sizes(), rounded.sizes());
    const auto got = linear({x, kRowAxes}, {kept, kWeightAxes}, bias, kHeadAxes).to_vector<float>();
    const auto expected = linear({x, kRowAxes}, {rounded, kWeightAxes}, bias, kHeadAxes).to_vector<float>();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-3) << i;  // of 1e3
    EXPECT_EQ(first_non_finite(kept), -1);

    auto table = some(kTable, {11, 8}, 0.2F), wide = table.clone();
    store_weight(table, 1, type);
    round_weight(wide, 1, type);
    const std::array<std::string_view, 1> row{"row"};
    const std::array<std::int64_t, 1> four{4};
    const std::array<std::int32_t, 4> ids{10, 0, 3, 3};
    const auto index = from_data({row, four}, std::span<const std::int32_t>(ids));
    EXPECT_EQ(take({table, kTable}, "vocab", {index, row}, kRowAxes).to_vector<float>(),
              take({wide, kTable}, "vocab", {index, row}, kRowAxes).to_vector<float>());
    const std::array<std::string_view, 2> logits{"row", "vocab"};
    EXPECT_EQ(linear_logits({x, kRowAxes}, {table, kTable}, {}, logits).sizes(),
              (std::vector<std::int64_t>{4, 11}));
    EXPECT_THAT(message([&] { (void)take({table, kTable}, "embed", {index, row}, {}); }), ::testing::Ne(""));
  }
}

TEST(StoredWeight, IsRefusedWhereItIsNotRead) {
  auto w = some(kTable, {3, 8}, 0);
  const auto x = some(kRowAxes, {4, 8}, 0);
  store_weight(w, 1, WeightType::f32);
  EXPECT_EQ(w.to_vector<float>().size(), 24U);
  store_weight(w, 1, WeightType::int8);
  EXPECT_EQ(message([&] { (void)w.to_vector<float>(); }),
            "to_vector: a weight is kept as int8, which products and look-ups alone read, without "
            "gradients\nhint: --weights f32");
  EXPECT_EQ(message([&] { (void)binary(Binary::add, {w, kTable}, 1.0); }),
            "add: [vocab=3, embed=8] is kept as int8, which products and look-ups alone read, without "
            "gradients\nhint: --weights f32");
  EXPECT_THAT(message([&] { (void)w.data<float>(); }),
              ::testing::StartsWith("data: a weight is kept as int8"));
  EXPECT_THAT(message([&] { (void)w.clone(); }), ::testing::StartsWith("clone: a weight is kept as int8"));
  EXPECT_EQ(message([&] { store_weight(w, 1, WeightType::bf16); }),
            "weights as bf16: they are kept as int8 already\nhint: read the model again");
  const std::array<std::string_view, 2> across{"row", "vocab"};
  EXPECT_THAT(message([&] { (void)dot({some(across, {4, 3}, 0), across}, {w, kTable}, kRowAxes); }),
              ::testing::StartsWith("dot: [vocab=3, embed=8] is kept as int8"));
}

TEST(StoredWeight, HasNoGradients) {
  auto w = some(kTable, {3, 8}, 0), x = some(kRowAxes, {4, 8}, 0);
  store_weight(w, 1, WeightType::bf16);
  const std::array<std::string_view, 2> logits{"row", "vocab"};
  const auto sum = [&] {
    return reduce(Reduction::sum, {dot({x, kRowAxes}, {w, kTable}, logits), logits}, logits);
  };
  EXPECT_EQ(sum().rank(), 0);
  const std::array<Array*, 1> of_x{&x}, of_w{&w};
  EXPECT_THAT(message([&] { (void)value_and_grad(of_x, sum); }),
              ::testing::StartsWith("dot: [vocab=3, embed=8] is kept as bf16"));
  EXPECT_THAT(message([&] { (void)value_and_grad(of_w, sum); }),
              ::testing::StartsWith("dot: [vocab=3, embed=8] is kept as bf16"));
  const std::array<std::string_view, 1> row{"row"};
  const std::array<std::int64_t, 1> one{1};
  const std::array<std::int32_t, 1> id{2};
  const auto index = from_data({row, one}, std::span<const std::int32_t>(id));
  const auto looked_up = [&] {
    return reduce(Reduction::sum, {take({w, kTable}, "vocab", {index, row}, kRowAxes), kRowAxes}, kRowAxes);
  };
  EXPECT_EQ(looked_up().rank(), 0);
  EXPECT_THAT(message([&] { (void)value_and_grad(of_w, looked_up); }),
              ::testing::StartsWith("take: [vocab=3, embed=8] is kept as bf16"));
}

TEST(StoredWeight, MustBeFiniteAndHaveOutputsAndInputs) {
  auto w = some(kTable, {3, 8}, 0);
  EXPECT_EQ(message([&] { store_weight(w, 2, WeightType::bf16); }),
            "weights as bf16: an array of 2 dimensions of f32 on cpu, of which 2 are outputs\nhint: fp32 in "
            "host memory, with outputs and inputs");
  w.data<float>()[13] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(message([&] { store_weight(w, 1, WeightType::int8); }),
            "weights as int8: element 13 is not finite\nhint: --weights f32, or an earlier checkpoint");
  EXPECT_EQ(stored_type(w), WeightType::f32);
}

TEST(StoredWeight, TypesHaveWords) {
  for (const auto* word : {"f32", "bf16", "int8"}) EXPECT_EQ(name(parse_weight_type("x", word)), word);
  EXPECT_EQ(message([] { (void)parse_weight_type("generate", "int4"); }),
            "generate: --weights int4 is not one of f32, bf16, int8\nhint: bora generate --help");
}

}  // namespace
}  // namespace bora::core
