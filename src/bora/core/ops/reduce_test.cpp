// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/reduce.h"

#include <ATen/ops/full_ops.h>
#include <ATen/ops/sort_ops.h>
#include <ATen/ops/topk_ops.h>

#include <limits>

#include "bora/core/create.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

const std::vector<NameList> kSubsets{{"a"},      {"b"},      {"c"},          {"a", "b"},
                                     {"c", "a"}, {"b", "c"}, {"c", "a", "b"}};

Dims dims(const NameList& over) {
  Dims out;
  for (const std::string_view axis : over) out.push_back(find(kAbc, axis));
  return out;
}

T torch_reduce(Reduction op, const T& x, const Dims& over) {
  switch (op) {
    case Reduction::sum:
      return x.sum(over);
    case Reduction::mean:
      return x.mean(over);
    case Reduction::max:
      return x.amax(over);
    case Reduction::min:
      return x.amin(over);
    case Reduction::var:
      return x.sub(x.mean(over, true)).pow(2).mean(over);
    case Reduction::logsumexp:
      return x.exp().sum(over).log();
    case Reduction::any:
      return x.gt(1.2).any(over);
    case Reduction::all:
      return x.gt(-1.5).all(over);
  }
  return {};
}

Mine mine(Reduction op, const NameList& over) {
  return [op, over](std::span<const Operand> in) {
    const Operand& x = in[0];
    const bool logical = op == Reduction::any || op == Reduction::all;
    const Array held = logical ? wrap(tensor(x.array).gt(op == Reduction::any ? 1.2 : -1.5)) : x.array;
    return Result{reduce(op, {held, x.names}, over), without(x.names, over)};
  };
}

constexpr Reduction kAll[] = {Reduction::sum, Reduction::mean,      Reduction::max, Reduction::min,
                              Reduction::var, Reduction::logsumexp, Reduction::any, Reduction::all};

TEST(Reductions, EqualsTorchOverEverySetOfAxes) {
  for (const Reduction op : kAll) {
    for (const NameList& over : kSubsets) {
      SCOPED_TRACE(std::string(name(op)) + " over " + describe(over));
      expect_same({{values({2, 3, 4}), kAbc}}, without(kAbc, over), mine(op, over),
                  [&](const auto& in) { return torch_reduce(op, in[0], dims(over)); });
    }
  }
}

TEST(Reductions, LongSumsEqualTorch) {
  // more than one chunk, with a rest; alone and with axes of size 1 that stay
  for (const Reduction op : {Reduction::sum, Reduction::mean, Reduction::var, Reduction::logsumexp}) {
    SCOPED_TRACE(name(op));
    expect_same({{values({1, 17, 1001}), kAbc}}, {"a"}, mine(op, {"b", "c"}), [&](const auto& in) {
      return torch_reduce(op, in[0].to(at::kDouble), {1, 2}).to(at::kFloat);
    });
  }
}

TEST(Reductions, OverNoAxisIsTheArrayItself) {
  const Array x = wrap(values({2, 3}));
  const NameList ab{"a", "b"};
  EXPECT_EQ(reduce(Reduction::sum, {x, ab}, {}).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(reduce(Reduction::var, {x, ab}, {}).to_vector<float>(), std::vector<float>(6, 0.0f));
  EXPECT_EQ(reduce(Reduction::any, {x, ab}, {}).to_vector<std::uint8_t>(), std::vector<std::uint8_t>(6, 1));
}

TEST(Reductions, ElementTypes) {
  const NameList ab{"a", "b"};
  const Array whole = wrap(integers({2, 3}, 9).to(at::kInt)), truth = wrap(values({2, 3}).gt(0));
  EXPECT_EQ(reduce(Reduction::sum, {whole, ab}, ab).dtype(), DType::i64);
  EXPECT_EQ(reduce(Reduction::sum, {truth, ab}, ab).item(), tensor(truth).sum().item().toDouble());
  EXPECT_EQ(reduce(Reduction::max, {whole, ab}, ab).dtype(), DType::i32);
  const T many = values({40000}).to(at::kBFloat16);
  const Array sum = reduce(Reduction::sum, {wrap(many), NameList{"a"}}, NameList{"a"});
  EXPECT_EQ(sum.dtype(), DType::bf16);
  EXPECT_EQ(sum.item(), many.to(at::kDouble).sum().to(at::kBFloat16).item().toDouble());
}

TEST(Reductions, LogSumExpOfInfinities) {
  const Array low = wrap(at::_ops::full::call({2, 3}, -INFINITY, at::kFloat, {}, {}, {}));
  const NameList ab{"a", "b"};
  EXPECT_EQ(reduce(Reduction::logsumexp, {low, ab}, ab).item(), -INFINITY);
  EXPECT_EQ(reduce(Reduction::logsumexp, {low, ab}, NameList{"b"}).to_vector<float>(),
            (std::vector<float>{-INFINITY, -INFINITY}));
}

TEST(Reductions, SoftmaxEqualsTorchOverEverySetOfAxes) {
  for (const NameList& over : kSubsets) {
    SCOPED_TRACE(describe(over));
    const auto exponentials = [&](const T& x) { return x.exp(); };
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc,
        [&](auto in) { return Result{softmax(in[0], over), list(in[0].names)}; },
        [&](const auto& in) { return exponentials(in[0]).div(exponentials(in[0]).sum(dims(over), true)); });
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc,
        [&](auto in) { return Result{log_softmax(in[0], over), list(in[0].names)}; },
        [&](const auto& in) { return in[0].sub(in[0].logsumexp(dims(over), true)); });
  }
}

TEST(Reductions, CumsumEqualsTorch) {
  for (const std::string_view axis : kAbc) {
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc,
        [&](auto in) { return Result{cumsum(in[0], axis), list(in[0].names)}; },
        [&](const auto& in) { return in[0].cumsum(find(kAbc, axis)); });
  }
}

TEST(Reductions, ArgmaxEqualsTorchAndTakesTheFirst) {
  for (const std::string_view axis : kAbc) {
    expect_same(
        {{values({2, 3, 4}), kAbc}}, without(kAbc, {&axis, 1}),
        [&](auto in) { return Result{argmax(in[0], axis), without(in[0].names, {&axis, 1})}; },
        [&](const auto& in) { return in[0].argmax(find(kAbc, axis)); });
  }
  const Array level = wrap(at::_ops::full::call({3, 50000}, 2.0, at::kFloat, {}, {}, {}));
  EXPECT_EQ(argmax({level, NameList{"a", "b"}}, "b").to_vector<std::int64_t>(),
            std::vector<std::int64_t>(3, 0));
  const Array truth = wrap(values({2, 3}).gt(9));
  EXPECT_EQ(argmax({truth, NameList{"a", "b"}}, "a").to_vector<std::int64_t>(),
            std::vector<std::int64_t>(3, 0));
}

TEST(Reductions, SortEqualsTorch) {
  for (const std::string_view axis : kAbc) {
    for (const bool descending : {false, true}) {
      const int dim = find(kAbc, axis);
      const auto names = [](auto in) { return list(in[0].names); };
      expect_same(
          {{values({2, 3, 4}), kAbc}}, kAbc,
          [&](auto in) { return Result{sort(in[0], axis, descending).first, names(in)}; },
          [&](const auto& in) { return std::get<0>(at::_ops::sort::call(in[0], dim, descending)); });
      expect_same(
          {{values({2, 3, 4}), kAbc}}, kAbc,
          [&](auto in) { return Result{sort(in[0], axis, descending).second, names(in)}; },
          [&](const auto& in) { return std::get<1>(at::_ops::sort::call(in[0], dim, descending)); });
    }
  }
}

TEST(Reductions, TopKEqualsTorch) {
  for (const std::string_view axis : kAbc) {
    const int dim = find(kAbc, axis);
    const auto names = [](auto in) { return list(in[0].names); };
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc,
        [&](auto in) { return Result{top_k(in[0], axis, 2).first, names(in)}; },
        [&](const auto& in) { return std::get<0>(at::_ops::topk::call(in[0], 2, dim, true, true)); });
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc,
        [&](auto in) { return Result{top_k(in[0], axis, 2).second, names(in)}; },
        [&](const auto& in) { return std::get<1>(at::_ops::topk::call(in[0], 2, dim, true, true)); });
  }
}

TEST(Reductions, TopKOfFewAndOfManyChooseAlike) {
  const std::int64_t rows = 300, n = 67;
  std::vector<float> x;
  for (std::int64_t i = 0; i < rows * n; ++i) x.push_back(static_cast<float>(i * 7919 % 13 - 6));
  for (std::size_t i = 0; i < x.size(); i += 101) x[i] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 5; i < x.size(); i += 103) x[i] = -std::numeric_limits<float>::infinity();
  const NameList names{"row", "n"};
  const std::vector<std::int64_t> sizes{rows, n};
  const Array all = from_data({names, sizes}, std::span<const float>(x));
  const auto whole = sort({all, names}, "n", true).second.to_vector<std::int64_t>();
  for (const std::int64_t k : {1, 2, 8, 32, 33, 67}) {
    const auto few = top_k({all, names}, "n", k).second.to_vector<std::int64_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
      EXPECT_TRUE(std::equal(few.begin() + row * k, few.begin() + (row + 1) * k, whole.begin() + row * n))
          << k << " " << row;
    }
  }
}

TEST(Reductions, TiesGoToTheLowestIndex) {
  const NameList n{"n"};
  const Array x = wrap(integers({1000}, 3).to(at::kFloat));
  for (const std::vector<std::int64_t>& order : {top_k({x, n}, "n", 1000).second.to_vector<std::int64_t>(),
                                                 sort({x, n}, "n", true).second.to_vector<std::int64_t>()}) {
    const std::vector<float> held = x.to_vector<float>();
    for (std::size_t i = 1; i < order.size(); ++i) {
      const float before = held[order[i - 1]], now = held[order[i]];
      ASSERT_TRUE(before > now || (before == now && order[i - 1] < order[i])) << i;
    }
  }
}

}  // namespace
}  // namespace bora::core
