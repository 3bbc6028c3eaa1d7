// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/elementwise.h"

#include <ATen/ops/full_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/where_ops.h>

#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

struct UnaryCase {
  Unary op;
  T (*torch)(const T&);
};
const UnaryCase kUnaryCases[] = {
    {Unary::negative, [](const T& x) { return x.neg(); }},
    {Unary::abs, [](const T& x) { return x.abs(); }},
    {Unary::sign, [](const T& x) { return x.sign(); }},
    {Unary::exp, [](const T& x) { return x.exp(); }},
    {Unary::expm1, [](const T& x) { return x.exp().sub(1); }},
    {Unary::log, [](const T& x) { return x.log(); }},
    {Unary::log1p, [](const T& x) { return x.add(1).log(); }},
    {Unary::sqrt, [](const T& x) { return x.sqrt(); }},
    {Unary::rsqrt, [](const T& x) { return x.pow(-0.5); }},
    {Unary::reciprocal, [](const T& x) { return x.pow(-1); }},
    {Unary::square, [](const T& x) { return x.pow(2); }},
    {Unary::sin, [](const T& x) { return x.sin(); }},
    {Unary::cos, [](const T& x) { return x.cos(); }},
    {Unary::tanh, [](const T& x) { return x.tanh(); }},
    {Unary::erf, [](const T& x) { return x.erf(); }},
    {Unary::floor, [](const T& x) { return x.floor(); }},
    {Unary::ceil, [](const T& x) { return x.ceil(); }},
    {Unary::round, [](const T& x) { return x.round(); }},
    {Unary::is_finite, [](const T& x) { return x.isfinite(); }},
    {Unary::is_nan, [](const T& x) { return x.isnan(); }},
};

TEST(Elementwise, UnaryOpsEqualTorch) {
  for (const auto& [op, torch] : kUnaryCases) {
    SCOPED_TRACE(name(op));
    const T x = needs_positive(op) ? values({2, 3, 4}).abs().add(0.1) : values({2, 3, 4});
    expect_same(
        {{x, kAbc}}, kAbc,
        [op = op](auto in) { return Result{unary(op, in[0]), {in[0].names.begin(), in[0].names.end()}}; },
        [torch = torch](const auto& in) { return torch(in[0]); });
  }
}

TEST(Elementwise, UnaryOfSpecialValues) {
  const NameList n{"n"};
  const Array x = wrap(at::_ops::full::call({4}, 1.0, at::kFloat, {}, {}, {}));
  x.data<float>()[1] = INFINITY;
  x.data<float>()[2] = NAN;
  x.data<float>()[3] = -INFINITY;
  EXPECT_EQ(unary(Unary::is_finite, {x, n}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(unary(Unary::is_nan, {x, n}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0, 1, 0}));
  const Array finite = unary(Unary::is_finite, {x, n});
  EXPECT_EQ(unary(Unary::logical_not, {finite, n}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 1, 1, 1}));
  const Array whole = wrap(integers({4}, 9).sub(4));
  EXPECT_EQ(unary(Unary::square, {whole, n}).dtype(), DType::i64);
}

struct BinaryCase {
  Binary op;
  T (*torch)(const T&, const T&);
};
const BinaryCase kBinaryCases[] = {
    {Binary::add, [](const T& a, const T& b) { return a.add(b); }},
    {Binary::subtract, [](const T& a, const T& b) { return a.sub(b); }},
    {Binary::multiply, [](const T& a, const T& b) { return a.mul(b); }},
    {Binary::divide, [](const T& a, const T& b) { return a.div(b); }},
    {Binary::power, [](const T& a, const T& b) { return a.pow(b); }},
    {Binary::maximum, [](const T& a, const T& b) { return at::_ops::maximum::call(a, b); }},
    {Binary::minimum, [](const T& a, const T& b) { return at::_ops::minimum::call(a, b); }},
    {Binary::floor_divide, [](const T& a, const T& b) { return a.div(b, "floor"); }},
    {Binary::remainder, [](const T& a, const T& b) { return a.remainder(b); }},
    {Binary::equal, [](const T& a, const T& b) { return a.eq(b); }},
    {Binary::not_equal, [](const T& a, const T& b) { return a.ne(b); }},
    {Binary::less, [](const T& a, const T& b) { return a.lt(b); }},
    {Binary::less_equal, [](const T& a, const T& b) { return a.le(b); }},
    {Binary::greater, [](const T& a, const T& b) { return a.gt(b); }},
    {Binary::greater_equal, [](const T& a, const T& b) { return a.ge(b); }},
};

T base_for(Binary op, T x) { return op == Binary::power ? x.abs().add(0.2) : x; }

TEST(Elementwise, BinaryOpsEqualTorchInEveryOrder) {
  for (const auto& [op, torch] : kBinaryCases) {
    SCOPED_TRACE(name(op));
    const T a = base_for(op, values({2, 3, 4})), b = values({4, 2}, 1).mul(2);
    // b's axes lie within a's; then the other way round
    expect_same(
        {{a, kAbc}, {b, {"c", "a"}}}, kAbc,
        [op = op](auto in) { return Result{binary(op, in[0], in[1], kAbc), kAbc}; },
        [torch = torch](const auto& in) { return torch(in[0], in[1].t().unsqueeze(1)); });
    const NameList out{"c", "a", "b"};
    expect_same(
        {{base_for(op, b), {"c", "a"}}, {a, kAbc}}, out,
        [op = op, out](auto in) { return Result{binary(op, in[0], in[1], out), out}; },
        [torch = torch](const auto& in) { return torch(in[0].unsqueeze(2), in[1].permute({2, 0, 1})); });
  }
}

TEST(Elementwise, BinaryWithANumberEqualsTorch) {
  for (const auto& [op, torch] : kBinaryCases) {
    SCOPED_TRACE(name(op));
    const T x = base_for(op, values({2, 3}));
    const NameList names{"a", "b"};
    const auto constant = [](double value) {
      return at::_ops::full::call({}, value, at::kFloat, {}, {}, {});
    };
    const auto own_names = [](const Operand& in) { return NameList(in.names.begin(), in.names.end()); };
    expect_same(
        {{x, names}}, names,
        [&, op = op](auto in) { return Result{binary(op, in[0], 0.7), own_names(in[0])}; },
        [&, torch = torch](const auto& in) { return torch(in[0], constant(0.7)); });
    expect_same(
        {{x, names}}, names,
        [&, op = op](auto in) { return Result{binary(op, 0.7, in[0]), own_names(in[0])}; },
        [&, torch = torch](const auto& in) { return torch(constant(0.7), in[0]); });
  }
}

TEST(Elementwise, ANumberKeepsTheElementType) {
  const NameList n{"n"};
  const Array half = wrap(values({3}).to(at::kBFloat16)), whole = wrap(integers({3}, 9).to(at::kInt));
  EXPECT_EQ(binary(Binary::multiply, {half, n}, 1.5).dtype(), DType::bf16);
  EXPECT_EQ(binary(Binary::maximum, {half, n}, 1.5).dtype(), DType::bf16);
  EXPECT_EQ(binary(Binary::subtract, 2.0, {half, n}).dtype(), DType::bf16);
  EXPECT_EQ(binary(Binary::add, {whole, n}, 2.0).dtype(), DType::i32);
  EXPECT_EQ(binary(Binary::floor_divide, {whole, n}, 2.0).dtype(), DType::i32);
  EXPECT_EQ(binary(Binary::less, {whole, n}, 2.5).dtype(), DType::boolean);
}

TEST(Elementwise, IntegersCompareWithFractions) {
  const NameList n{"n"};
  const Array x = wrap(at::_ops::arange::call(5, at::kLong, {}, {}, {}));
  EXPECT_EQ(binary(Binary::less, {x, n}, 2.5).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 1, 1, 0, 0}));
  EXPECT_EQ(binary(Binary::less, 2.5, {x, n}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(binary(Binary::floor_divide, {x, n}, 2).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(binary(Binary::remainder, {x, n}, 3).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 1, 2, 0, 1}));
}

TEST(Elementwise, LogicEqualsTorch) {
  const T a = values({2, 3}).gt(0), b = values({3}, 1).gt(0);
  const NameList ab{"a", "b"};
  expect_same(
      {{a, ab}, {b, {"b"}}}, ab,
      [&](auto in) { return Result{binary(Binary::logical_and, in[0], in[1], ab), ab}; },
      [](const auto& in) { return in[0].logical_and(in[1]); });
  expect_same(
      {{a, ab}, {b, {"b"}}}, ab,
      [&](auto in) { return Result{binary(Binary::logical_or, in[0], in[1], ab), ab}; },
      [](const auto& in) { return in[0].logical_or(in[1]); });
}

TEST(Elementwise, OneElementBroadcastsWithItsGradient) {
  const NameList ab{"a", "b"};
  expect_same(
      {{values({}), {}}, {values({2, 3}, 1), ab}}, ab,
      [&](auto in) { return Result{binary(Binary::multiply, in[0], in[1], ab), ab}; },
      [](const auto& in) { return in[0].mul(in[1]); });
  expect_same(
      {{values({2, 3}), ab}, {values({}, 1), {}}}, ab,
      [&](auto in) { return Result{binary(Binary::divide, in[0], in[1], ab), ab}; },
      [](const auto& in) { return in[0].div(in[1]); });
  expect_same(
      {{values({1, 5}), ab}, {values({1}, 1), {"a"}}}, ab,
      [&](auto in) { return Result{binary(Binary::add, in[0], in[1], ab), ab}; },
      [](const auto& in) { return in[0].add(in[1].unsqueeze(1)); });
}

TEST(Elementwise, WhereEqualsTorchInEveryOrder) {
  const T condition = values({2, 4}).gt(0);
  expect_same(
      {{condition, {"a", "c"}}, {values({2, 3, 4}, 1), kAbc}, {values({3}, 2), {"b"}}}, kAbc,
      [](auto in) { return Result{where(in[0], in[1], in[2], kAbc), kAbc}; },
      [](const auto& in) {
        return at::_ops::where_self::call(in[0].unsqueeze(1), in[1], in[2].unsqueeze(1));
      });
  const NameList out{"c", "b", "a"};
  expect_same(
      {{condition, {"a", "c"}}, {values({3}, 1), {"b"}}}, out,
      [&](auto in) { return Result{where(in[0], in[1], -1e9, out), out}; },
      [](const auto& in) {
        const T low = at::_ops::full::call({}, -1e9, at::kFloat, {}, {}, {});
        return at::_ops::where_self::call(in[0].t().unsqueeze(1), in[1].unsqueeze(1), low);
      });
}

TEST(Elementwise, CastEqualsTorch) {
  const NameList ab{"a", "b"};
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32}) {
    SCOPED_TRACE(name(dtype));
    expect_same(
        {{values({2, 3}).mul(5), ab}}, ab,
        [&](auto in) { return Result{cast(in[0], dtype), {in[0].names.begin(), in[0].names.end()}}; },
        [&](const auto& in) { return in[0].to(scalar_type(dtype)); });
  }
  const Array x = wrap(values({2}));
  EXPECT_EQ(cast({x, NameList{"a"}}, DType::f32).node(), x.node());
}

}  // namespace
}  // namespace bora::core
