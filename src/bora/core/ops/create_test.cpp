// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/create.h"

#include <array>
#include <cstring>

#include "bora/core/host_view.h"
#include "bora/core/kernels/cpu/random.h"
#include "bora/core/shape.h"
#include "bora/core/torch/testing.h"

namespace bora::core {
namespace {

using namespace testing;
using T = Tensor;

const NameList kRowAndColumn{"a", "b"};
const Dims kTwoByThree{2, 3};
const Shape kOfBoth{kRowAndColumn, kTwoByThree};

TEST(Create, Constants) {
  EXPECT_EQ(zeros(kOfBoth).to_vector<float>(), std::vector<float>(6, 0));
  EXPECT_EQ(ones(kOfBoth, DType::i32).to_vector<std::int32_t>(), std::vector<std::int32_t>(6, 1));
  EXPECT_EQ(full(kOfBoth, 2.5, DType::bf16).to_vector<float>(), std::vector<float>(6, 2.5));
  EXPECT_EQ(full(kOfBoth, -7, DType::i64).to_vector<std::int64_t>(), std::vector<std::int64_t>(6, -7));
  EXPECT_EQ(full(kOfBoth, 1, DType::boolean).dtype(), DType::boolean);
  EXPECT_EQ(uninitialized(kOfBoth, DType::f64).sizes(), kTwoByThree);
  EXPECT_EQ(zeros({}).item(), 0);
}

TEST(Create, Arange) {
  const Dims four{4};
  const Shape shape{Names(kRowAndColumn).first(1), four};
  EXPECT_EQ(arange(shape).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(shape, 3, -2, DType::i32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{3, 1, -1, -3}));
  EXPECT_EQ(arange(shape, 0.5, 0.25, DType::f32).to_vector<float>(),
            (std::vector<float>{0.5, 0.75, 1, 1.25}));
}

TEST(Create, FromData) {
  const std::vector<float> f{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(from_data(kOfBoth, f).to_vector<float>(), f);
  const std::vector<double> d{1, 2, 3, 4, 5, 1e300};
  EXPECT_EQ(from_data(kOfBoth, d).to_vector<double>(), d);
  const std::vector<std::int32_t> i{1, 2, 3, 4, 5, -6};
  EXPECT_EQ(from_data(kOfBoth, i).to_vector<std::int32_t>(), i);
  const std::vector<std::int64_t> l{1, 2, 3, 4, 5, std::int64_t{1} << 60};
  EXPECT_EQ(from_data(kOfBoth, l).to_vector<std::int64_t>(), l);
  const std::array<std::uint16_t, 6> bits{0x3F80, 0x4000, 0, 0, 0, 0xBF80};
  const Array half = from_bytes(kOfBoth, DType::bf16, std::as_bytes(std::span(bits)));
  EXPECT_EQ(half.to_vector<float>(), (std::vector<float>{1, 2, 0, 0, 0, -1}));
  const HostView written(half, HostView::Use::read);
  EXPECT_EQ(std::memcmp(written.bytes().data(), bits.data(), sizeof(bits)), 0);
}

struct Moments {
  double mean, std, low, high;
};
Moments moments(const Array& x) {
  const T t = tensor(x).to(at::kDouble);
  return {t.mean().item().toDouble(), t.std().item().toDouble(), t.min().item().toDouble(),
          t.max().item().toDouble()};
}

TEST(Create, RandomValuesHaveTheirDistribution) {
  const Key key = Key::from_seed(3);
  const Dims many{400, 500};
  const Shape shape{kRowAndColumn, many};
  const Moments uniform = moments(random_uniform(key, shape, -1, 3));
  EXPECT_NEAR(uniform.mean, 1, 0.02);
  EXPECT_NEAR(uniform.std, 4 / std::sqrt(12.0), 0.02);
  EXPECT_GE(uniform.low, -1);
  EXPECT_LT(uniform.high, 3);
  const Moments normal = moments(random_normal(key, shape, 2, 0.5));
  EXPECT_NEAR(normal.mean, 2, 0.01);
  EXPECT_NEAR(normal.std, 0.5, 0.01);
  // a standard normal cut at two has standard deviation 0.8796
  const Moments cut = moments(random_truncated_normal(key, shape, -2, 2, 0.1));
  EXPECT_NEAR(cut.mean, 0, 0.002);
  EXPECT_NEAR(cut.std, 0.08796, 0.001);
  EXPECT_GE(cut.low, -0.2000001);
  EXPECT_LE(cut.high, 0.2000001);
}

TEST(Create, RandomValuesDependOnKeyAndIndexAlone) {
  const Dims long_sizes{5, 3};
  for (const auto draw : {+[](Key key, const Shape& s) { return random_uniform(key, s); },
                          +[](Key key, const Shape& s) { return random_normal(key, s); },
                          +[](Key key, const Shape& s) { return random_truncated_normal(key, s, -2, 2); }}) {
    const std::vector<float> some = draw(Key::from_seed(1), kOfBoth).to_vector<float>();
    const std::vector<float> more = draw(Key::from_seed(1), {kRowAndColumn, long_sizes}).to_vector<float>();
    EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));
    EXPECT_NE(some, draw(Key::from_seed(2), kOfBoth).to_vector<float>());
  }
}

TEST(Create, DropoutKeepsItsShareAndScales) {
  const Dims many{400, 500};
  const Array x = ones({kRowAndColumn, many});
  const T kept = tensor(dropout({x, kRowAndColumn}, 0.25, Key::from_seed(5)));
  EXPECT_NEAR(kept.ne(0).to(at::kFloat).mean().item().toDouble(), 0.75, 0.005);
  EXPECT_FLOAT_EQ(kept.max().item().toFloat(), 1 / 0.75f);
  EXPECT_EQ(dropout({x, kRowAndColumn}, 0, Key::from_seed(5)).node(), x.node());
}

// The mask of an array with these sizes, scaled.
T mask(double p, Key key, at::IntArrayRef sizes) {
  const T one = values(sizes).mul(0).add(1);
  T out = one.clone();
  kernels::dropout(key, 0, one.numel(), static_cast<float>(p), one.const_data_ptr<float>(),
                   out.mutable_data_ptr<float>());
  return out;
}

TEST(Create, DropoutEqualsTorchWithTheSameMask) {
  const Key key = Key::from_seed(9);
  // in row-major order of the operand's dimensions, whatever its strides
  expect_same(
      {{values({40, 3}), kRowAndColumn}}, kRowAndColumn,
      [&](auto in) {
        return Result{dropout({rearrange(in[0], kRowAndColumn), kRowAndColumn}, 0.4, key), kRowAndColumn};
      },
      [&](const auto& in) { return in[0].mul(mask(0.4, key, {40, 3})); });
}

TEST(Create, DropoutOfNarrowTypesUsesTheSameMask) {
  const T x = values({1000}).to(at::kBFloat16);
  const NameList n{"n"};
  const T got = tensor(dropout({wrap(x), n}, 0.5, Key::from_seed(1)));
  EXPECT_TRUE(got.equal(x.mul(mask(0.5, Key::from_seed(1), {1000}).to(at::kBFloat16))));
}

}  // namespace
}  // namespace bora::core
