// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/shape.h"

#include <ATen/core/IListRef.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/stack_ops.h>

#include "bora/core/create.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

T cat(const std::vector<T>& parts, int dim) { return at::_ops::cat::call(at::ITensorListRef(parts), dim); }

NameList replaced(Names names, std::string_view from, const NameList& to) {
  NameList out;
  for (const std::string_view axis : names) {
    if (axis == from) {
      out.insert(out.end(), to.begin(), to.end());
    } else {
      out.push_back(axis);
    }
  }
  return out;
}

TEST(Shape, RearrangeEqualsTorch) {
  NameList to = kAbc;
  do {
    expect_same(
        {{values({2, 3, 4}), kAbc}}, kAbc, [&](auto in) { return Result{rearrange(in[0], to), to}; },
        [](const auto& in) { return in[0].mul(1); });
  } while (std::next_permutation(to.begin(), to.end()));
  const Array x = wrap(values({2, 3, 4}));
  EXPECT_EQ(rearrange({x, kAbc}, kAbc).node(), x.node());
  EXPECT_EQ(rearrange({x, kAbc}, NameList{"c", "a", "b"}).sizes(), (std::vector<std::int64_t>{4, 2, 3}));
}

TEST(Shape, BroadcastEqualsTorch) {
  const Dims sizes{4, 2, 5, 3};
  const NameList to{"c", "a", "d", "b"};
  expect_same(
      {{values({2, 3}), {"a", "b"}}}, to, [&](auto in) { return Result{broadcast(in[0], {to, sizes}), to}; },
      [&](const auto& in) { return in[0].view({1, 2, 1, 3}).expand(sizes); });
  expect_same(
      {{values({}), {}}}, to, [&](auto in) { return Result{broadcast(in[0], {to, sizes}), to}; },
      [&](const auto& in) { return in[0].expand(sizes); });
}

TEST(Shape, FlattenEqualsTorch) {
  const T x = values({2, 3, 4, 5});
  const NameList abcd{"a", "b", "c", "d"};
  expect_same(
      {{x, abcd}}, {"bd", "a", "c"},
      [](auto in) {
        const NameList names = replaced(without(in[0].names, NameList{"d"}), "b", {"bd"});
        return Result{flatten(in[0], NameList{"b", "d"}, "bd"), names};
      },
      [](const auto& in) { return in[0].permute({1, 3, 0, 2}).reshape({15, 2, 4}); });
  // the first axis given comes first in the result, whatever the order of storage; its name may be kept
  expect_same(
      {{x, abcd}}, {"c", "b", "d"},
      [](auto in) {
        return Result{flatten(in[0], NameList{"c", "a"}, "c"), without(in[0].names, NameList{"a"})};
      },
      [](const auto& in) { return in[0].permute({2, 0, 1, 3}).reshape({8, 3, 5}); });
}

TEST(Shape, FlattenTakesTheFirstAxesPlace) {
  const Array x = wrap(values({2, 3, 4}));
  EXPECT_EQ(flatten({x, kAbc}, NameList{"c", "a"}, "f").sizes(), (std::vector<std::int64_t>{3, 8}));
  EXPECT_EQ(flatten({x, kAbc}, NameList{"a", "c"}, "f").sizes(), (std::vector<std::int64_t>{8, 3}));
  EXPECT_EQ(flatten({x, kAbc}, NameList{"b"}, "f").sizes(), (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(Shape, FlattenOfNeighboursIsAView) {
  const Array x = wrap(values({2, 3, 4}));
  EXPECT_EQ(tensor(flatten({x, kAbc}, NameList{"b", "c"}, "f")).const_data_ptr(), tensor(x).const_data_ptr());
}

TEST(Shape, UnflattenEqualsTorch) {
  const Dims sizes{3, 2};
  const NameList parts{"x", "y"};
  expect_same(
      {{values({2, 6, 4}), kAbc}}, {"a", "x", "y", "c"},
      [&](auto in) {
        return Result{unflatten(in[0], "b", {parts, sizes}), replaced(in[0].names, "b", parts)};
      },
      [](const auto& in) { return in[0].reshape({2, 3, 2, 4}); });
  const NameList same{"b", "y"};
  expect_same(
      {{values({2, 6, 4}), kAbc}}, {"a", "b", "y", "c"},
      [&](auto in) { return Result{unflatten(in[0], "b", {same, sizes}), replaced(in[0].names, "b", same)}; },
      [](const auto& in) { return in[0].reshape({2, 3, 2, 4}); });
}

TEST(Shape, ConcatenateEqualsTorchInEveryOrder) {
  const T x = values({2, 3}), y = values({2, 1}, 1), z = values({4, 2}, 2);
  expect_same(
      {{x, {"a", "b"}}, {y, {"a", "b"}}, {z, {"b", "a"}}}, {"a", "b"},
      [](auto in) { return Result{concatenate(in, "b"), list(in[0].names)}; },
      [](const auto& in) { return cat({in[0], in[1], in[2].t()}, 1); });
}

TEST(Shape, StackEqualsTorchInEveryOrder) {
  expect_same(
      {{values({2, 3}), {"a", "b"}}, {values({3, 2}, 1), {"b", "a"}}}, {"n", "a", "b"},
      [](auto in) {
        NameList names{"n"};
        names.insert(names.end(), in[0].names.begin(), in[0].names.end());
        return Result{stack(in, "n"), names};
      },
      [](const auto& in) {
        const std::vector<T> parts{in[0], in[1].t()};
        return at::_ops::stack::call(parts, 0);
      });
}

TEST(Shape, SplitEqualsTorch) {
  const Dims sizes{1, 4, 2};
  for (int part = 0; part < 3; ++part) {
    expect_same(
        {{values({2, 7, 3}), kAbc}}, kAbc,
        [&](auto in) { return Result{split(in[0], "b", sizes)[part], list(in[0].names)}; },
        [&](const auto& in) { return in[0].split_with_sizes(sizes, 1)[part]; });
  }
  // all pieces together: the gradients of the pieces meet again
  expect_same(
      {{values({2, 7, 3}), kAbc}}, kAbc,
      [&](auto in) {
        const std::vector<Array> parts = split(in[0], "b", sizes);
        const NameList names = list(in[0].names);
        const Operand turned[] = {{parts[2], names}, {parts[0], names}, {parts[1], names}};
        return Result{concatenate(turned, "b"), names};
      },
      [&](const auto& in) {
        const auto parts = in[0].split_with_sizes(sizes, 1);
        return cat({parts[2], parts[0], parts[1]}, 1);
      });
}

TEST(Shape, SliceEqualsTorch) {
  expect_same(
      {{values({2, 7, 3}), kAbc}}, kAbc,
      [](auto in) { return Result{slice(in[0], "b", 2, 4), list(in[0].names)}; },
      [](const auto& in) { return in[0].narrow(1, 2, 4); });
  const Array start = full({}, 3, DType::i64);
  expect_same(
      {{values({2, 7, 3}), kAbc}}, kAbc,
      [&](auto in) { return Result{dynamic_slice(in[0], "b", start, 4), list(in[0].names)}; },
      [](const auto& in) { return in[0].narrow(1, 3, 4); });
  const Array x = wrap(values({2, 7, 3}));
  EXPECT_EQ(slice({x, kAbc}, "b", 7, 0).numel(), 0);
}

}  // namespace
}  // namespace bora::core
