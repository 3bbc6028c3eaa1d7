// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Every named op against a plain loop.
#include "bora/named/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "bora/named/test_values.h"

namespace bora {
namespace {

using testing::at;
using testing::error_of;
using testing::expect_each;
using testing::same_bits;

struct A : axis<"a"> {};
struct B : axis<"b"> {};
struct C : axis<"c"> {};
struct D : axis<"d"> {};

constexpr Dim<A> kA{2};
constexpr Dim<B> kB{3};
constexpr Dim<C> kC{4};

template <Axis... As>
Named<As...> random(std::uint64_t seed, Dim<As>... dims) {
  return random_normal(Key::from_seed(seed), 0, 1, dims...);
}
template <NamedTensor X>
X positive(const X& x) {
  return square(x) + 0.1;
}

class NamedOps : public ::testing::Test {
 protected:
  Named<A, B> x = random(1, kA, kB);
  Named<B, A> y = random(2, kB, kA);
  Named<B> b = random(3, kB);
  Named<A, B, C> z = random(4, kA, kB, kC);
  Indices<C> places = indices_from_vector(std::vector<std::int32_t>{2, 0, 2, 1}, kC);
};

TEST_F(NamedOps, SizesAndMaking) {
  EXPECT_EQ(x.size<B>(), 3);
  EXPECT_EQ(y.dim<A>().size, 2);
  expect_each(zeros(kB, kA), {3, 2}, [](auto...) { return 0; });
  expect_each(ones(kA), {2}, [](auto...) { return 1; });
  expect_each(full(2.5, kC), {4}, [](auto...) { return 2.5; });
  expect_each(arange(kC, 1, 0.5), {4}, [](auto i) { return 1 + 0.5 * i; });
  expect_each(from_vector(std::vector<float>{0, 1, 2, 10, 11, 12}, kA, kB), {2, 3},
              [](auto i, auto j) { return 10 * i + j; });
  for (float v : random_uniform(Key::from_seed(1), 2, 3, kA, kB).to_vector()) EXPECT_TRUE(v >= 2 && v <= 3);
  for (float v : random_truncated_normal(Key::from_seed(1), -1, 1, 0.5, kA, kB).to_vector()) {
    EXPECT_LE(std::abs(v), 0.5F);
  }
  EXPECT_TRUE(same_bits(random(7, kA, kB), random(7, kA, kB)));
}

TEST_F(NamedOps, OrderIsLayoutNotMeaning) {
  Named<A, B> turned = y;
  expect_each(turned, {2, 3}, [&](auto i, auto j) { return at(y)(j, i); }, 0);
  Named<B, A> back = turned;
  EXPECT_TRUE(same_bits(back, y));
  expect_each(rearrange<C, A, B>(z), {4, 2, 3}, [&](auto k, auto i, auto j) { return at(z)(i, j, k); }, 0);
}

TEST_F(NamedOps, BinaryWithPermutedAndSmallerOperands) {
  auto px = positive(x);
  auto py = positive(y);
  auto ax = at(px), ay = at(py);
  auto check = [&](const auto& result, auto f) {
    expect_each(result, {2, 3}, [&](auto i, auto j) { return f(ax(i, j), ay(j, i)); });
  };
  check(px + py, std::plus<>());
  check(px - py, std::minus<>());
  check(px * py, std::multiplies<>());
  check(px / py, std::divides<>());
  check(maximum(px, py), [](float p, float q) { return std::max(p, q); });
  check(minimum(px, py), [](float p, float q) { return std::min(p, q); });
  check(pow(px, py), [](float p, float q) { return std::pow(p, q); });
  check(remainder(px, py), [](float p, float q) { return p - std::floor(p / q) * q; });
  expect_each(x + b, {2, 3}, [&](auto i, auto j) { return at(x)(i, j) + at(b)(j); });
  expect_each(b - x, {3, 2}, [&](auto j, auto i) { return at(b)(j) - at(x)(i, j); });
  expect_each(x * full(3), {2, 3}, [&](auto i, auto j) { return 3 * at(x)(i, j); });
}

TEST_F(NamedOps, BinaryWithNumbers) {
  auto ax = at(x);
  auto check = [&](const auto& result, auto f) {
    expect_each(result, {2, 3}, [&](auto i, auto j) { return f(ax(i, j)); });
  };
  check(x + 2, [](float v) { return v + 2; });
  check(2 - x, [](float v) { return 2 - v; });
  check(x * 2, [](float v) { return v * 2; });
  check(2 / x, [](float v) { return 2 / v; });
  check(pow(x, 3), [](float v) { return v * v * v; });
  check(maximum(x, 0.5), [](float v) { return std::max(v, 0.5F); });
  check(minimum(x, 0.5), [](float v) { return std::min(v, 0.5F); });
}

TEST_F(NamedOps, ComparisonsAndLogic) {
  auto ax = at(x), ay = at(y);
  auto check = [&](const auto& mask, auto f) {
    EXPECT_EQ(mask.dtype(), core::DType::boolean);
    expect_each(mask, {2, 3}, [&](auto i, auto j) { return f(ax(i, j), ay(j, i)) ? 1 : 0; }, 0);
  };
  check(x < y, std::less<>());
  check(x <= y, std::less_equal<>());
  check(x > y, std::greater<>());
  check(x >= y, std::greater_equal<>());
  check(equal(x, x), [](auto...) { return true; });
  check(x > 0, [](float p, float) { return p > 0; });
  check(x < 0, [](float p, float) { return p < 0; });
  check(equal(x, 9), [](auto...) { return false; });
  check(logical_and(x > 0, y > 0), [](float p, float q) { return p > 0 && q > 0; });
  check(logical_or(x > 0, y > 0), [](float p, float q) { return p > 0 || q > 0; });
  check(logical_not(x > 0), [](float p, float) { return !(p > 0); });
}

TEST_F(NamedOps, ComparisonsWithNumbersOnEitherSide) {
  const auto x = from_vector({-1, 0, 0.5, 2}, kC);
  const auto check = [](const auto& mask, std::vector<std::uint8_t> expected) {
    EXPECT_EQ(mask.dtype(), core::DType::boolean);
    EXPECT_EQ(mask.template to_vector<std::uint8_t>(), expected);
  };
  check(x < 0.5, {1, 1, 0, 0});
  check(x <= 0.5, {1, 1, 1, 0});
  check(x > 0.5, {0, 0, 0, 1});
  check(x >= 0.5, {0, 0, 1, 1});
  check(0.5 < x, {0, 0, 0, 1});
  check(0.5 <= x, {0, 0, 1, 1});
  check(0.5 > x, {1, 1, 0, 0});
  check(0.5 >= x, {1, 1, 1, 0});
  check(equal(x, 0.5), {0, 0, 1, 0});
  check(not_equal(x, 0.5), {1, 1, 0, 1});
  check(not_equal(x, x), {0, 0, 0, 0});
}

TEST_F(NamedOps, AssigningOperatorsMakeANewTensor) {
  const auto before = x;
  auto z = x;
  z += b;
  EXPECT_TRUE(same_bits(z, x + b));
  z -= y;
  z *= b;
  z /= x;
  EXPECT_TRUE(same_bits(z, (x + b - y) * b / x));
  z = x;
  z += 3;
  z -= 1;
  z *= 2;
  z /= 4;
  EXPECT_TRUE(same_bits(z, (x + 3 - 1) * 2 / 4));
  EXPECT_TRUE(same_bits(x, before)) << "copies keep their values";
}

TEST_F(NamedOps, ElementsWrittenOut) {
  const auto x = from_vector({1, 2, 3, 4, 5, 6}, kA, kB);
  EXPECT_EQ(x.dtype(), core::DType::f32);
  EXPECT_EQ(x.to_vector(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(from_vector({0.5, 1}, Dim<D>{2}).to_vector(), (std::vector<float>{0.5F, 1}));
  const auto ids = indices_from_vector({7, 8}, Dim<D>{2});
  EXPECT_EQ(ids.array().dtype(), core::DType::i64);
  EXPECT_EQ(ids.to_vector(), (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(error_of([] { from_vector({1, 2}, kB); }),
            "from_data: [b=3] of f32 takes 3 elements (12 bytes), 8 bytes were given");
}

TEST_F(NamedOps, MeanOfAMaskIsTheShareThatIsTrue) {
  const auto x = from_vector({1, -1, 1, 1, -1, -1}, kA, kB);
  EXPECT_EQ(mean<B>(x > 0).to_vector(), (std::vector<float>{2.F / 3, 1.F / 3}));
  EXPECT_EQ(mean_all(x > 0).item(), 0.5);
  EXPECT_EQ(total(x > 0).item(), 3);
}

TEST_F(NamedOps, IdsAreCompared) {
  const auto same = equal(places, indices_from_vector(std::vector<std::int64_t>{2, 1, 2, 0}, kC));
  EXPECT_EQ(same.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(equal(places, 2).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(not_equal(places, 0).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 0, 1, 1}));
  EXPECT_EQ(mean_all(not_equal(places, places)).item(), 0);
  constexpr std::int64_t kLarge = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(equal(indices_from_vector({kLarge, kLarge - 1}, kA), kLarge).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 0}));
}

TEST_F(NamedOps, CrossEntropyOverTheNamedAxis) {
  const Indices<C, A> targets = indices_from_vector({0, 1, 2, 0, 1, 2, 0, 2}, kC, kA);
  const auto losses = cross_entropy<B>(z, targets);
  static_assert(std::is_same_v<decltype(losses), const Named<A, C>>);
  const auto log_p = at(log_softmax<B>(z));
  expect_each(losses, {2, 4}, [&](auto i, auto k) { return -log_p(i, at(targets)(k, i), k); });
}

TEST_F(NamedOps, IdsChangeAxes) {
  const Indices<A, B> ids = indices_from_vector({0, 1, 2, 3, 4, 5}, kA, kB);
  const auto flat = flatten<Axes<A, B>, D>(ids);
  EXPECT_EQ(flat.to_vector(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(same_bits(unflatten<D>(flat, kA, kB), ids));
  EXPECT_EQ((rearrange<B, A>(ids).to_vector()), (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5}));
  const auto parts = split<B>(ids, {1, 2});
  EXPECT_EQ(parts[1].to_vector(), (std::vector<std::int64_t>{1, 2, 4, 5}));
  EXPECT_TRUE(same_bits(concatenate<B>(parts[0], parts[1]), ids));
  EXPECT_EQ((unbind<A, 2>(ids)[1].to_vector()), (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(stack<C>(flat, flat).size<C>(), 2);
  EXPECT_EQ(broadcast(flat, kC).size<C>(), 4);
}

TEST_F(NamedOps, Unary) {
  auto check = [&](const auto& result, const auto& from, auto f) {
    expect_each(result, {2, 3}, [&](auto i, auto j) { return f(static_cast<double>(at(from)(i, j))); });
  };
  auto p = positive(x);
  check(-x, x, [](double v) { return -v; });
  check(abs(x), x, [](double v) { return std::abs(v); });
  check(exp(x), x, [](double v) { return std::exp(v); });
  check(log(p), p, [](double v) { return std::log(v); });
  check(sqrt(p), p, [](double v) { return std::sqrt(v); });
  check(rsqrt(p), p, [](double v) { return 1 / std::sqrt(v); });
  check(square(x), x, [](double v) { return v * v; });
  check(sin(x), x, [](double v) { return std::sin(v); });
  check(cos(x), x, [](double v) { return std::cos(v); });
  check(tanh(x), x, [](double v) { return std::tanh(v); });
  check(sigmoid(x), x, [](double v) { return 1 / (1 + std::exp(-v)); });
  check(relu(x), x, [](double v) { return std::max(v, 0.0); });
  check(silu(x), x, [](double v) { return v / (1 + std::exp(-v)); });
  check(gelu(x), x, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  check(gelu_tanh(x), x,
        [](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); });
  EXPECT_EQ(cast(x, core::DType::bf16).dtype(), core::DType::bf16);
}

TEST_F(NamedOps, WhereDropoutStopGradient) {
  expect_each(
      where(x > 0, x, y), {2, 3}, [&](auto i, auto j) { return at(x)(i, j) > 0 ? at(x)(i, j) : at(y)(j, i); },
      0);
  expect_each(
      where(b > 0, x, -1), {2, 3}, [&](auto i, auto j) { return at(b)(j) > 0 ? at(x)(i, j) : -1; }, 0);
  auto key = Key::from_seed(5);
  auto dropped = dropout(z, 0.5, key);
  EXPECT_TRUE(same_bits(dropped, dropout(z, 0.5, key)));
  int zeros_seen = 0;
  expect_each(dropped, {2, 3, 4}, [&](auto i, auto j, auto k) {
    bool zero = at(dropped)(i, j, k) == 0;
    zeros_seen += zero ? 1 : 0;
    return zero ? 0 : 2 * at(z)(i, j, k);
  });
  EXPECT_TRUE(zeros_seen > 2 && zeros_seen < 22);
  EXPECT_TRUE(same_bits(dropout(z, 0, key), z));
  EXPECT_TRUE(same_bits(stop_gradient(z), z));
}

TEST_F(NamedOps, ReductionsOverAnyAxes) {
  auto az = at(z);
  auto over_b = [&](auto i, auto k) { return std::vector<double>{az(i, 0, k), az(i, 1, k), az(i, 2, k)}; };
  auto total_of = [](const std::vector<double>& v) { return v[0] + v[1] + v[2]; };
  auto check = [&](const auto& result, auto f) {
    expect_each(result, {2, 4}, [&](auto i, auto k) { return f(over_b(i, k)); });
  };
  check(sum<B>(z), total_of);
  check(mean<B>(z), [&](auto v) { return total_of(v) / 3; });
  check(max<B>(z), [](auto v) { return *std::max_element(v.begin(), v.end()); });
  check(min<B>(z), [](auto v) { return *std::min_element(v.begin(), v.end()); });
  check(var<B>(z), [&](auto v) {
    double m = total_of(v) / 3, s = 0;
    for (double e : v) s += (e - m) * (e - m) / 3;
    return s;
  });
  check(logsumexp<B>(z), [](auto v) { return std::log(std::exp(v[0]) + std::exp(v[1]) + std::exp(v[2])); });
  check(any<B>(z > 1),
        [](auto v) { return std::any_of(v.begin(), v.end(), [](double e) { return e > 1; }); });
  check(all<B>(z > -1),
        [](auto v) { return std::all_of(v.begin(), v.end(), [](double e) { return e > -1; }); });
  check(argmax<B>(z), [](auto v) { return std::max_element(v.begin(), v.end()) - v.begin(); });
  expect_each(sum<C, A>(z), {3}, [&](auto j) {
    double s = 0;
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < 4; ++k) s += az(i, j, k);
    return s;
  });
  double everything = 0;
  for (float v : z.to_vector()) everything += v;
  EXPECT_NEAR(total(z).item(), everything, 1e-5);
  EXPECT_NEAR(mean_all(z).item(), everything / 24, 1e-5);
}

TEST_F(NamedOps, SoftmaxOverOneAndTwoAxes) {
  auto az = at(z);
  auto one = [&](int i, int k) {
    double s = 0;
    for (int j = 0; j < 3; ++j) s += std::exp(static_cast<double>(az(i, j, k)));
    return s;
  };
  auto e = [&](auto i, auto j, auto k) { return std::exp(static_cast<double>(az(i, j, k))); };
  expect_each(softmax<B>(z), {2, 3, 4}, [&](auto i, auto j, auto k) { return e(i, j, k) / one(i, k); });
  expect_each(log_softmax<B>(z), {2, 3, 4},
              [&](auto i, auto j, auto k) { return std::log(e(i, j, k) / one(i, k)); });
  auto two = [&](int i) { return one(i, 0) + one(i, 1) + one(i, 2) + one(i, 3); };
  expect_each(softmax<C, B>(z), {2, 3, 4}, [&](auto i, auto j, auto k) { return e(i, j, k) / two(i); });
  expect_each(cumsum<C>(z), {2, 3, 4}, [&](auto i, auto j, auto k) {
    double s = 0;
    for (int l = 0; l <= k; ++l) s += az(i, j, l);
    return s;
  });
}

TEST_F(NamedOps, TopKAndSort) {
  auto column = [&](auto i, auto k) {
    std::vector<float> v{at(z)(i, 0, k), at(z)(i, 1, k), at(z)(i, 2, k)};
    std::sort(v.begin(), v.end());
    return v;
  };
  auto [values, from] = top_k<B>(z, Dim<D>{2});
  expect_each(
      values, {2, 2, 4},
      [&](auto i, auto j, auto k) { return column(i, k)[static_cast<std::size_t>(2 - j)]; }, 0);
  expect_each(values, {2, 2, 4}, [&](auto i, auto j, auto k) { return at(z)(i, at(from)(i, j, k), k); }, 0);
  auto [up, up_from] = sort<B>(z);
  expect_each(
      up, {2, 3, 4}, [&](auto i, auto j, auto k) { return column(i, k)[static_cast<std::size_t>(j)]; }, 0);
  expect_each(up, {2, 3, 4}, [&](auto i, auto j, auto k) { return at(z)(i, at(up_from)(i, j, k), k); }, 0);
  auto down = sort<B>(z, true).first;
  expect_each(
      down, {2, 3, 4}, [&](auto i, auto j, auto k) { return column(i, k)[static_cast<std::size_t>(2 - j)]; },
      0);
}

TEST_F(NamedOps, DotContractsBatchesAndKeeps) {
  Named<C, B> w = random(11, kC, kB);
  expect_each(dot<B>(x, w), {2, 4}, [&](auto i, auto k) {
    double s = 0;
    for (int j = 0; j < 3; ++j) s += at(x)(i, j) * at(w)(k, j);
    return s;
  });
  expect_each(dot<B>(z, y), {2, 4}, [&](auto i, auto k) {  // a batches
    double s = 0;
    for (int j = 0; j < 3; ++j) s += at(z)(i, j, k) * at(y)(j, i);
    return s;
  });
  expect_each(dot<B, A>(y, z), {4}, [&](auto k) {
    double s = 0;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j) s += at(z)(i, j, k) * at(y)(j, i);
    return s;
  });
  EXPECT_EQ(error_of([&] { dot<B>(x, random(12, kC, Dim<B>{5})); }),
            "dot: axis b is 3 in [a=2, b=3] but 5 in [c=4, b=5]\nhint: one name has one size; rename one of "
            "the two axes if they are different "
            "things");
}

TEST_F(NamedOps, RenameBroadcastFlattenUnflatten) {
  EXPECT_TRUE(same_bits(rename<A, D>(x), x));
  EXPECT_EQ((rename<C, D>(places).size<D>()), 4);
  expect_each(broadcast(x, kC), {4, 2, 3}, [&](auto, auto i, auto j) { return at(x)(i, j); }, 0);
  expect_each(flatten<Axes<A, C>, D>(z), {8, 3}, [&](auto d, auto j) { return at(z)(d / 4, j, d % 4); }, 0);
  expect_each(flatten<Axes<C, A>, D>(z), {3, 8}, [&](auto j, auto d) { return at(z)(d % 2, j, d / 2); }, 0);
  auto flat = flatten<Axes<A, B>, D>(z);
  auto back = unflatten<D>(flat, kA, kB);
  static_assert(std::is_same_v<decltype(back), Named<A, B, C>>);
  EXPECT_TRUE(same_bits(back, z));
  EXPECT_NE(error_of([&] { unflatten<D>(flat, Dim<A>{2}, Dim<B>{2}); }), "no error");
}

TEST_F(NamedOps, ConcatenateStackSplitUnbind) {
  expect_each(
      concatenate<A>(x, y), {4, 3}, [&](auto i, auto j) { return i < 2 ? at(x)(i, j) : at(y)(j, i - 2); }, 0);
  expect_each(
      stack<D>(x, y), {2, 2, 3}, [&](auto d, auto i, auto j) { return d == 0 ? at(x)(i, j) : at(y)(j, i); },
      0);
  auto pieces = split<C>(z, {1, 3});
  ASSERT_EQ(pieces.size(), 2U);
  expect_each(pieces[1], {2, 3, 3}, [&](auto i, auto j, auto k) { return at(z)(i, j, k + 1); }, 0);
  auto rows = unbind<B, 3>(z);
  expect_each(rows[2], {2, 4}, [&](auto i, auto k) { return at(z)(i, 2, k); }, 0);
  EXPECT_EQ(error_of([&] { unbind<B, 2>(z); }), "unbind: 2 pieces along b were asked for but there are 3");
}

TEST_F(NamedOps, SliceAndTake) {
  expect_each(slice<C>(z, 1, 2), {2, 3, 2}, [&](auto i, auto j, auto k) { return at(z)(i, j, k + 1); }, 0);
  expect_each(slice<C>(places, 2, 2), {2}, [&](auto k) { return at(places)(k + 2); }, 0);
  auto start = indices_from_vector<>(std::vector<std::int32_t>{1});
  expect_each(
      slice<C>(z, start, 2), {2, 3, 2}, [&](auto i, auto j, auto k) { return at(z)(i, j, k + 1); }, 0);
  expect_each(take<B>(z, 1), {2, 4}, [&](auto i, auto k) { return at(z)(i, 1, k); }, 0);
  expect_each(take<B>(x, places), {2, 4}, [&](auto i, auto k) { return at(x)(i, at(places)(k)); }, 0);
  expect_each(take<B>(z, places), {2, 4}, [&](auto i, auto k) { return at(z)(i, at(places)(k), k); }, 0);
}

TEST_F(NamedOps, ScatterAddAndOneHot) {
  Named<C, A> updates = random(13, kC, kA);
  expect_each(scatter_add<B>(x, places, updates), {2, 3}, [&](auto i, auto j) {
    double s = at(x)(i, j);
    for (int k = 0; k < 4; ++k) s += at(places)(k) == j ? at(updates)(k, i) : 0;
    return s;
  });
  expect_each(one_hot(places, kB), {4, 3}, [&](auto k, auto j) { return at(places)(k) == j ? 1 : 0; }, 0);
}

TEST_F(NamedOps, OneNameWithTwoSizesIsAnError) {
  auto message = error_of([&] { x + random(20, Dim<B>{1}); });
  EXPECT_NE(message.find("axis b is 3 in [a=2, b=3] but 1 in [b=1]"), std::string::npos) << message;
}

TEST(NamedArrays, OnlyByNamingEveryDimension) {
  auto array = random(1, kA, kB).array();
  EXPECT_EQ((from_array<B, C>(array).size<C>()), 3);
  EXPECT_EQ(error_of([&] { from_array<A>(array); }),
            "from_array: 1 axes [a] for an array with 2 dimensions\nhint: name every dimension");
  EXPECT_EQ(error_of([&] { indices_from_array<A, B>(array); }),
            "indices_from_array: indices [a, b] must be i32 or i64 but are f32");
}

// const auto& of a temporary's array would dangle if it were a reference.
TEST(NamedArrays, ATemporaryGivesItsArrayAway) {
  static_assert(std::is_same_v<decltype(random(1, kA).array()), core::Array>);
  const Named<A> x;
  static_assert(std::is_same_v<decltype(x.array()), const core::Array&>);
  const core::Array& kept = random(1, kA).array();
  EXPECT_EQ(kept.to_vector<float>(), random(1, kA).to_vector());
}

TEST(NamedArrays, DynamicAndBack) {
  auto x = random(1, kA, kB);
  DynNamed dynamic = x;
  EXPECT_EQ(dynamic.describe(), "[a=2, b=3]");
  EXPECT_TRUE(same_bits(dynamic.as<A, B>(), x));
  expect_each(dynamic.as<B, A>(), {3, 2}, [&](auto j, auto i) { return at(x)(i, j); }, 0);
  EXPECT_EQ(error_of([&] { dynamic.as<A, C>(); }),
            "as: the array has axes [a=2, b=3] but [a, c] was asked for");
  EXPECT_EQ(error_of([&] { dynamic.as<A>(); }), "as: the array has axes [a=2, b=3] but [a] was asked for");
  EXPECT_EQ(error_of([&] { DynNamed(x.array(), {"a"}); }),
            "DynNamed: 1 axes [a] for an array with 2 dimensions\nhint: name every dimension");
}

}  // namespace
}  // namespace bora
