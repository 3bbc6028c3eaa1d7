// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/index.h"

#include <ATen/ops/zeros_ops.h>

#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

TEST(Index, LookUpEqualsTorchInEveryOrder) {
  const T ids = integers({2, 3}, 5);
  for (const NameList& out :
       {NameList{"batch", "position", "embed"}, NameList{"embed", "position", "batch"}}) {
    expect_same(
        {{values({5, 4}), {"vocab", "embed"}}, {ids, {"batch", "position"}}}, {"batch", "position", "embed"},
        [&](auto in) { return Result{take(in[0], "vocab", in[1], out), out}; },
        [](const auto& in) { return in[0].index_select(0, in[1].view(-1)).view({2, 3, 4}); });
  }
}

TEST(Index, LookUpOfOneIndexDropsTheAxis) {
  const NameList out{"embed"};
  expect_same(
      {{values({5, 4}), {"vocab", "embed"}}, {integers({}, 5), {}}}, out,
      [&](auto in) { return Result{take(in[0], "vocab", in[1], out), out}; },
      [](const auto& in) { return in[0].index_select(0, in[1].view(1)).view(4); });
}

TEST(Index, LookUpInTheMiddle) {
  const NameList out{"a", "n", "c"};
  expect_same(
      {{values({2, 5, 3}), {"a", "b", "c"}}, {integers({4}, 5).to(at::kInt), {"n"}}}, out,
      [&](auto in) { return Result{take(in[0], "b", in[1], out), out}; },
      [](const auto& in) { return in[0].index_select(1, in[1]); });
}

TEST(Index, PickAlongAnAxisEqualsGather) {
  const NameList out{"batch", "position"};
  expect_same(
      {{values({2, 3, 7}), {"batch", "position", "vocab"}}, {integers({3, 2}, 7), {"position", "batch"}}},
      out, [&](auto in) { return Result{take(in[0], "vocab", in[1], out), out}; },
      [](const auto& in) { return in[0].gather(2, in[1].t().unsqueeze(2)).squeeze(2); });
}

TEST(Index, PickSeveralForEach) {
  const NameList out{"a", "k", "m"};
  expect_same(
      {{values({2, 7}), {"a", "b"}}, {integers({2, 3, 2}, 7), {"a", "k", "m"}}}, out,
      [&](auto in) { return Result{take(in[0], "b", in[1], out), out}; },
      [](const auto& in) { return in[0].gather(1, in[1].reshape({2, 6})).view({2, 3, 2}); });
}

TEST(Index, TakeWithSharedAndOwnAxes) {
  const NameList out{"a", "k", "c"};
  expect_same(
      {{values({2, 5, 3}), {"a", "b", "c"}}, {integers({2, 4}, 5), {"a", "k"}}}, out,
      [&](auto in) { return Result{take(in[0], "b", in[1], out), out}; },
      [](const auto& in) { return in[0].gather(1, in[1].unsqueeze(2).expand({2, 4, 3})); });
}

TEST(Index, IndicesMayBringAnAxisOfTheSameName) {
  const NameList out{"a", "b"};
  expect_same(
      {{values({2, 5}), {"a", "b"}}, {integers({3}, 5), {"b"}}}, out,
      [&](auto in) { return Result{take(in[0], "b", in[1], out), out}; },
      [](const auto& in) { return in[0].index_select(1, in[1]); });
  expect_same(
      {{values({2, 5}), {"a", "b"}}, {integers({2, 3}, 5), {"a", "b"}}}, out,
      [&](auto in) { return Result{take(in[0], "b", in[1], out), out}; },
      [](const auto& in) { return in[0].gather(1, in[1]); });
}

TEST(Index, ScatterAddEqualsTorchInEveryOrder) {
  expect_same(
      {{values({5, 4}), {"vocab", "embed"}},
       {integers({2, 3}, 4), {"batch", "position"}},
       {values({2, 3, 4}, 1), {"batch", "position", "embed"}}},
      {"vocab", "embed"},
      [](auto in) { return Result{scatter_add(in[0], "vocab", in[1], in[2]), list(in[0].names)}; },
      [](const auto& in) { return in[0].index_add(0, in[1].view(-1), in[2].reshape({6, 4})); });
}

TEST(Index, ScatterAddAlongAnAxis) {
  expect_same(
      {{values({2, 5}), {"a", "b"}}, {integers({2, 6}, 5), {"a", "k"}}, {values({2, 6}, 1), {"a", "k"}}},
      {"a", "b"}, [](auto in) { return Result{scatter_add(in[0], "b", in[1], in[2]), list(in[0].names)}; },
      [](const auto& in) { return in[0].scatter_add(1, in[1], in[2]); });
  expect_same(
      {{values({2, 5, 3}), {"a", "b", "c"}},
       {integers({2, 4}, 5), {"a", "k"}},
       {values({2, 4, 3}, 1), {"a", "k", "c"}}},
      {"a", "b", "c"},
      [](auto in) { return Result{scatter_add(in[0], "b", in[1], in[2]), list(in[0].names)}; },
      [](const auto& in) { return in[0].scatter_add(1, in[1].unsqueeze(2).expand({2, 4, 3}), in[2]); });
}

TEST(Index, ScatterAddOfIntegersAndSameName) {
  expect_same(
      {{integers({5}, 9), {"b"}}, {integers({7}, 5), {"b"}}, {integers({7}, 9, 1), {"b"}}}, {"b"},
      [](auto in) { return Result{scatter_add(in[0], "b", in[1], in[2]), list(in[0].names)}; },
      [](const auto& in) { return in[0].index_add(0, in[1], in[2]); });
}

TEST(Index, OneHotEqualsTorch) {
  const auto one_hot_of = [](const T& ids) {
    return at::_ops::zeros::call({2, 3, 6}, at::kFloat, {}, {}, {}).scatter(2, ids.unsqueeze(2), 1.0);
  };
  expect_same(
      {{integers({2, 3}, 6), {"a", "b"}}}, {"a", "b", "n"},
      [](auto in) {
        NameList names = list(in[0].names);
        names.push_back("n");
        return Result{one_hot(in[0], "n", 6), names};
      },
      [&](const auto& in) { return one_hot_of(in[0]); });
  const Array last = wrap(integers({2}, 1).add(2));
  const Array rows = one_hot({last, NameList{"a"}}, "n", 3, DType::boolean);
  EXPECT_EQ(rows.dtype(), DType::boolean);
  EXPECT_EQ(rows.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0, 1, 0, 0, 1}));
}

TEST(Index, NoIndicesAtAll) {
  const Array x = wrap(values({5, 4})), none = wrap(integers({0}, 5));
  const NameList out{"n", "embed"};
  EXPECT_EQ(take({x, NameList{"vocab", "embed"}}, "vocab", {none, NameList{"n"}}, out).sizes(),
            (std::vector<std::int64_t>{0, 4}));
}

}  // namespace
}  // namespace bora::core
