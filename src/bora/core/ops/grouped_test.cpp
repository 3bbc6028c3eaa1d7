// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/grouped.h"

#include <gtest/gtest.h>

#include <numeric>

#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/routing.h"
#include "bora/core/rows_apart.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;

const NameList kSi{"s", "i"}, kSo{"s", "o"}, kXoi{"x", "o", "i"}, kXo{"x", "o"}, kOi{"o", "i"};

Array rows_of(const std::vector<std::int32_t>& counts) {
  static constexpr std::string_view kNames[] = {"expert", "part"};
  const Dims sizes{std::ssize(counts), 1};
  return from_data({kNames, sizes}, std::span<const std::int32_t>(counts));
}

// Of each slot its expert's product, in f64 by libtorch.
Tensor by_slot(const Tensor& x, const Tensor& weight, const Tensor& bias,
               const std::vector<std::int32_t>& counts) {
  std::vector<std::int64_t> experts;
  for (std::size_t e = 0; e < counts.size(); ++e)
    experts.insert(experts.end(), static_cast<std::size_t>(counts[e]), static_cast<std::int64_t>(e));
  static constexpr std::string_view kSlot[] = {"s"};
  const Dims sizes{std::ssize(experts)};
  const Tensor ids = tensor(from_data({kSlot, sizes}, std::span<const std::int64_t>(experts))).to(x.device());
  const Tensor w = weight.to(at::kDouble).index_select(0, ids), b = bias.to(at::kDouble).index_select(0, ids);
  return w.matmul(x.to(at::kDouble).unsqueeze(-1)).squeeze(-1).add(b).to(at::kFloat);
}

TEST(GroupedLinear, IsEachExpertsOwnLinearMap) {
  const std::vector<std::vector<std::int32_t>> cases{{3, 0, 4, 2}, {9, 0, 0, 0}, {0, 0, 0, 9}, {9}, {0, 0}};
  for (const auto& counts : cases) {
    const std::int64_t slots = std::accumulate(counts.begin(), counts.end(), 0), experts = std::ssize(counts);
    const Array rows = rows_of(counts);
    expect_same(
        {{values({slots, 5}), kSi}, {values({experts, 7, 5}, 1), kXoi}, {values({experts, 7}, 2), kXo}}, kSo,
        [&](auto in) {
          // the expert is the first axis of a weight
          const Array weight = rearrange(in[1], kXoi), bias = rearrange(in[2], kXo),
                      x = rearrange(in[0], kSi);
          return Result{grouped_linear({x, kSi}, rows, {weight, kXoi}, bias, kSo), kSo};
        },
        [&](const auto& in) { return by_slot(in[0], in[1], in[2], counts); });
  }
}

TEST(GroupedLinear, KeepsAndContractsSeveralAxesInAnyOrder) {
  const NameList si{"s", "i", "j"}, xw{"x", "j", "p", "i", "q"}, spq{"q", "s", "p"}, flat_in{"i", "j"},
      flat_out{"p", "q"};
  const std::vector<std::int32_t> counts{2, 3};
  const Array x = wrap(moved(values({5, 2, 3}))), w = wrap(moved(values({2, 3, 4, 2, 6}, 1)));
  const Array got = grouped_linear({x, si}, rows_of(counts), {w, xw}, {}, spq);
  const Tensor w2 = tensor(w).permute({0, 2, 4, 3, 1}).reshape({2, 24, 6});
  const Tensor want = by_slot(tensor(x).reshape({5, 6}), w2, w2.select(2, 0).mul(0), counts);
  expect_close(tensor(got).to(at::kCPU), want.view({5, 4, 6}).permute({2, 0, 1}).to(at::kCPU), "value");
}

// Wherever an expert's rows and weights lie.
TEST(GroupedLinear, HasTheBitsOfEachProductAlone) {
  const std::vector<std::int32_t> counts{70, 0, 3, 130, 9};
  const Array x = wrap(values({212, 20})), w = wrap(values({5, 33, 20}, 1));
  const Tensor got = tensor(grouped_linear({x, kSi}, rows_of(counts), {w, kXoi}, {}, kSo));
  std::int64_t first = 0;
  for (std::size_t e = 0; e < counts.size(); first += counts[e++]) {
    if (counts[e] == 0) continue;
    const Array part = wrap(tensor(x).narrow(0, first, counts[e]).clone());
    const Array own = wrap(tensor(w).select(0, static_cast<std::int64_t>(e)).clone());
    const Tensor alone = tensor(linear({part, kSi}, {own, kOi}, {}, kSo));
    EXPECT_TRUE(got.narrow(0, first, counts[e]).equal(alone)) << "expert " << e;
  }
}

// A mixture of two layers, of as many rows as the choices have.
Tensor mixture(const Tensor& x, const Tensor& choices, const Array& w) {
  const NameList bt{"b", "t"}, btk{"b", "t", "k"}, bti{"b", "t", "i"}, bto{"b", "t", "o"};
  const Array tokens = wrap(x), chosen = wrap(choices),
              weights = wrap(choices.mul(0.1).add(0.3).to(at::kFloat));
  const Routing r = route({chosen, btk}, 3);
  const Array slots = dispatch({tokens, bti}, r, bt, kSi);
  const Array y = grouped_linear({slots, kSi}, r.rows, {w, kXoi}, {}, kSo);
  return tensor(combine({y, kSo}, {weights, btk}, r, bto));
}

TEST(GroupedLinear, RowsOfABatchApartHaveTheBitsThatTheyHaveAlone) {
  const Tensor x = values({4, 3, 20}), choices = integers({4, 3, 2}, 3);
  const Array w = wrap(values({3, 48, 20}, 1));
  const auto together = [&] {
    const RowsApart apart(4);
    return mixture(x, choices, w);
  }();
  const RowsApart one(1);
  for (std::int64_t row = 0; row < 4; ++row) {
    const Tensor alone = mixture(x.narrow(0, row, 1).clone(), choices.narrow(0, row, 1).clone(), w);
    EXPECT_TRUE(together.narrow(0, row, 1).equal(alone)) << row;
  }
}

TEST(GroupedLinear, Errors) {
  const Array x = wrap(values({5, 4})), w = wrap(values({2, 3, 4})), odd = wrap(values({2, 3, 6}));
  EXPECT_EQ(error_of([&] { grouped_linear({x, kSi}, rows_of({2, 2}), {w, kXoi}, {}, kSo); }),
            "grouped_linear: there are 4 rows for 2 experts, but [s=5, i=4] and [x=2, o=3, i=4]\nhint: rows "
            "are those of the routing that made the slots");
  EXPECT_EQ(
      error_of([&] { grouped_linear({x, kSi}, rows_of({2, 3}), {odd, kXoi}, {}, kSo); }),
      "grouped_linear: axis i is 4 in [s=5, i=4] but 6 in [x=2, o=3, i=6]\nhint: one name has one size; "
      "rename one of the two axes if they are different things");
  EXPECT_EQ(error_of([&] { grouped_linear({x, kSi}, x, {w, kXoi}, {}, kSo); }),
            "grouped_linear: rows are f32 [5, 4], not i32 [expert, part]");
  const NameList xoj{"x", "o", "j"};
  EXPECT_NE(error_of([&] { grouped_linear({x, kSi}, rows_of({2, 3}), {w, xoj}, {}, kSo); }), "no error");
}

}  // namespace
}  // namespace bora::core
