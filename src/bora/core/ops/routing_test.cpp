// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/routing.h"

#include <gtest/gtest.h>

#include "bora/core/create.h"
#include "bora/core/rows_apart.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using Ids = std::vector<std::int32_t>;

const NameList kTk{"t", "k"}, kTe{"t", "e"}, kSe{"s", "e"}, kT{"t"};

Array ids(const NameList& names, const Dims& sizes, const Ids& values) {
  return from_data({names, sizes}, std::span<const std::int32_t>(values));
}

const Ids kChoices{1, 0, 1, 2, 0, 1};  // of three tokens

TEST(Route, SortsByExpertAndKeepsTheOrderOfTokens) {
  const Routing r = route({ids(kTk, {3, 2}, kChoices), kTk}, 4);
  EXPECT_EQ(r.place.to_vector<std::int32_t>(), (Ids{2, 0, 3, 5, 1, 4}));
  EXPECT_EQ(r.rows.to_vector<std::int32_t>(), (Ids{2, 3, 1, 0}));
  EXPECT_EQ(r.rows.sizes(), (std::vector<std::int64_t>{4, 1}));
}

TEST(Route, CountsRowsThatAreComputedApart) {
  const RowsApart apart(3);
  const Routing r = route({ids(kTk, {3, 2}, kChoices), kTk}, 4);
  EXPECT_EQ(r.place.to_vector<std::int32_t>(), (Ids{2, 0, 3, 5, 1, 4}));
  EXPECT_EQ(r.rows.to_vector<std::int32_t>(), (Ids{1, 0, 1, /**/ 1, 1, 1, /**/ 0, 1, 0, /**/ 0, 0, 0}));
}

TEST(Route, Errors) {
  EXPECT_EQ(error_of([] { route({ids(kTk, {3, 2}, kChoices), kTk}, 2); }),
            "route: a token chooses expert 2 of 2 in [t=3, k=2]\nhint: they are 0 to 1");
  EXPECT_EQ(error_of([] { route({ids(kTk, {1, 2}, {0, -1}), kTk}, 2); }),
            "route: a token chooses expert -1 of 2 in [t=1, k=2]\nhint: they are 0 to 1");
}

TEST(Slots, LikeIndexing) {
  const Routing r = route({ids(kTk, {3, 2}, kChoices), kTk}, 4);
  const Tensor place = tensor(r.place).to(at::kCPU), order = place.view({-1}).argsort();
  const Named x{values({3, 5}), kTe}, y{values({6, 5}, 2), kSe}, w{values({3, 2}, 3), kTk};
  expect_same(
      {x}, kSe, [&](auto in) { return Result{dispatch(in[0], r, kT, kSe), kSe}; },
      [&](const auto& in) { return in[0].index_select(0, order.floor_divide(2)); });
  const std::vector<Tensor> plain = leaves({y, w}), ours = leaves({y, w});
  const Tensor visits = plain[0].index_select(0, place.view({-1})).view({3, 2, 5});
  const Tensor want = visits.mul(plain[1].unsqueeze(-1)).sum(1);
  const Array a = wrap(moved(ours[0])), b = wrap(moved(ours[1]));
  const Tensor got = tensor(combine({a, kSe}, {b, kTk}, r, kTe)).to(at::kCPU);
  expect_close(got.detach(), want.detach(), "combine");
  pull_back(want);
  pull_back(got);
  expect_close(ours[0].grad(), plain[0].grad(), "of the slots");
  expect_close(ours[1].grad(), plain[1].grad(), "of the weights");
}

TEST(Slots, WiderThanAChunkInBf16) {
  const NameList bt{"b", "t"}, bte{"b", "t", "e"}, btk{"b", "t", "k"};
  const Array choices = wrap(integers({2, 40, 3}, 5).to(at::kInt));
  const Routing r = route({choices, btk}, 5);
  const Array x = wrap(values({2, 40, 600}).to(at::kBFloat16)), w = wrap(at::Tensor(values({2, 40, 3}, 1)));
  const Array slots = dispatch({x, bte}, r, bt, kSe);
  const Tensor got = tensor(combine({slots, kSe}, {w, btk}, r, bte));
  const Tensor want = tensor(x).to(at::kFloat).mul(tensor(w).sum(-1, true));
  EXPECT_EQ(got.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(got.to(at::kFloat).allclose(want, 1e-2, 1e-2));
}

TEST(Slots, Errors) {
  const Routing r = route({ids(kTk, {3, 2}, kChoices), kTk}, 4);
  const Array x = wrap(values({4, 5})), w = wrap(values({3, 3})), y = wrap(values({6, 5}));
  EXPECT_EQ(error_of([&] { dispatch({x, kTe}, r, kT, kSe); }),
            "dispatch: the routing has places [3, 2] for the tokens [t], which do not fit [t=4, e=5]");
  EXPECT_EQ(error_of([&] { combine({y, kSe}, {w, kTk}, r, kTe); }),
            "combine: [s=6, e=5] and [t=3, k=3] do not fit 6 slots of 2 choices");
  const NameList swapped{"e", "t"};
  EXPECT_EQ(error_of([&] { dispatch({y, {kTe}}, r, kT, swapped); }).substr(0, 9), "dispatch:");
}

}  // namespace
}  // namespace bora::core
