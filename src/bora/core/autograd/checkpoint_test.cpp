// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Gradient checkpointing against the same function without it: equal bits, everywhere.
#include <gtest/gtest.h>

#include "bora/base/key.h"
#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"

namespace bora::core {
namespace {

using Arrays = std::vector<Array>;
using Body = std::function<Arrays(std::span<const Array>)>;
/// How a body is run: as it is, or by checkpoint().
using Runner = std::function<Arrays(const Body&, std::span<const Array>)>;

constexpr std::string_view kRow = "row", kIn = "in", kOut = "out";
constexpr std::array<std::string_view, 2> kX{kRow, kIn}, kY{kRow, kOut}, kW{kIn, kOut};

Array drawn(std::uint64_t seed, Names names, const std::vector<std::int64_t>& sizes) {
  return random_normal(Key::from_seed(seed), {names, sizes});
}
Array total(const Array& x, Names names) { return reduce(Reduction::sum, {x, names}, names); }

Arrays plainly(const Body& f, std::span<const Array> inputs) { return f(inputs); }
Arrays checkpointed(const Body& f, std::span<const Array> inputs) { return checkpoint(f, inputs); }
Arrays twice(const Body& f, std::span<const Array> inputs) {
  return checkpoint([f](std::span<const Array> again) { return checkpoint(f, again); }, inputs);
}

void expect_same_bits(const Array& a, const Array& b, const std::string& what) {
  EXPECT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>()) << what;
}

class CheckpointTest : public ::testing::Test {
 protected:
  Array x = drawn(1, kX, {5, 6}), w = drawn(2, kW, {6, 6}), u = drawn(3, kW, {6, 6});

  // tanh(x·w), with half of its elements dropped: x by argument, the parameter w by reference.
  Body layer(const Array& weight, std::uint64_t site) const {
    return [&weight, site](std::span<const Array> in) {
      const Array y = unary(Unary::tanh, {dot({in[0], kX}, {weight, kW}, kY), kY});
      return Arrays{dropout({y, kY}, 0.5, Key::from_seed(7).fold(site))};
    };
  }
  ValueAndGrad both_layers(const Runner& run) {
    std::vector<Array*> parameters{&x, &w, &u};
    const Body first = layer(w, 1), second = layer(u, 2);
    return value_and_grad(parameters, [&] {
      const Arrays h = run(first, Arrays{x});
      const Arrays y = run(second, h);
      return total(unary(Unary::square, {y[0], kY}), kY);
    });
  }
  static void expect_same(const ValueAndGrad& a, const ValueAndGrad& b) {
    expect_same_bits(a.value, b.value, "value");
    ASSERT_EQ(a.gradients.size(), b.gradients.size());
    for (std::size_t i = 0; i < a.gradients.size(); ++i)
      expect_same_bits(a.gradients[i], b.gradients[i], "gradient " + std::to_string(i));
  }
};

TEST_F(CheckpointTest, ValuesAndGradientsWithDropout) {
  const auto expected = both_layers(plainly);
  EXPECT_NE(expected.gradients[1].to_vector<float>(), zeros({kW, w.sizes()}).to_vector<float>());
  expect_same(both_layers(checkpointed), expected);
}

TEST_F(CheckpointTest, Nested) { expect_same(both_layers(twice), both_layers(plainly)); }

TEST_F(CheckpointTest, BothLayersInOne) {
  std::vector<Array*> parameters{&x, &w, &u};
  const Body first = layer(w, 1), second = layer(u, 2);
  for (const Runner& inner : {Runner(plainly), Runner(checkpointed)}) {
    const Body stack = [&](std::span<const Array> in) { return inner(second, inner(first, in)); };
    expect_same(value_and_grad(parameters,
                               [&] {
                                 const Array y = checkpoint(stack, Arrays{x})[0];
                                 return total(unary(Unary::square, {y, kY}), kY);
                               }),
                both_layers(plainly));
  }
}

TEST_F(CheckpointTest, SeveralInputsAndOutputsSomeUnused) {
  std::vector<Array*> parameters{&x, &w, &u};
  const Body body = [](std::span<const Array> in) {
    const Array a = dot({in[0], kX}, {in[1], kW}, kY), b = dot({in[0], kX}, {in[2], kW}, kY);
    return Arrays{unary(Unary::tanh, {a, kY}), unary(Unary::exp, {a, kY}), unary(Unary::tanh, {b, kY})};
  };
  const auto value = [&](const Runner& run) {
    return value_and_grad(parameters, [&] {
      const Arrays out = run(body, Arrays{x, w, u});
      return total(binary(Binary::multiply, {out[0], kY}, {out[2], kY}, kY), kY);  // not out[1]
    });
  };
  expect_same(value(checkpointed), value(plainly));
}

TEST_F(CheckpointTest, InputsWithoutAGradient) {
  std::vector<Array*> parameters{&w};
  const auto value = [&](const Runner& run) {
    return value_and_grad(parameters, [&] { return total(run(layer(w, 1), Arrays{x})[0], kY); });
  };
  expect_same(value(checkpointed), value(plainly));
}

TEST_F(CheckpointTest, RunsAgainOnlyInTheBackwardPass) {
  std::vector<Array*> parameters{&x};
  int runs = 0, before_backward = 0;
  const Body counted = [&](std::span<const Array> in) {
    ++runs;
    return Arrays{unary(Unary::square, {in[0], kX})};
  };
  value_and_grad(parameters, [&] {
    const Array y = checkpoint(counted, Arrays{x})[0];
    before_backward = runs;
    return total(y, kX);
  });
  EXPECT_EQ(before_backward, 1);
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(recording());
  expect_same_bits(checkpoint(counted, Arrays{x})[0], unary(Unary::square, {x, kX}), "not recorded");
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace bora::core
