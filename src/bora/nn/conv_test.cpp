// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/named/grad.h"

namespace bora::nn {
namespace {

struct Batch : axis<"batch"> {};
struct Time : axis<"time"> {};
struct In : axis<"in"> {};
struct Out : axis<"out"> {};
struct Tap : axis<"tap"> {};
using Conv = Conv1d<In, Out, Time, Tap>;
using X = Named<Batch, In, Time>;

struct Sizes {
  std::int64_t batch = 2, in = 3, out = 4, time = 9, taps = 3, stride = 1, padding = 1;
  std::int64_t places() const { return (time + 2 * padding - taps) / stride + 1; }
};

// By the definition.
std::vector<double> expected(const Sizes& s, const std::vector<float>& x, const std::vector<float>& w,
                             const std::vector<float>& bias) {
  std::vector<double> y;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t p = 0; p < s.places(); ++p) {
      for (std::int64_t o = 0; o < s.out; ++o) {
        double sum = bias[static_cast<std::size_t>(o)];
        for (std::int64_t i = 0; i < s.in * s.taps; ++i) {
          const auto t = p * s.stride + i % s.taps - s.padding;
          if (t < 0 || t >= s.time) continue;
          sum += double{w[static_cast<std::size_t>(o * s.in * s.taps + i)]} *
                 x[static_cast<std::size_t>((b * s.in + i / s.taps) * s.time + t)];
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

Conv conv_of(const Sizes& s) {
  auto conv =
      Conv::init(Dim<In>{s.in}, Dim<Out>{s.out}, Dim<Tap>{s.taps}, Key::from_seed(1), 1, s.stride, s.padding);
  conv.bias = random_normal(Key::from_seed(2), 0, 1, Dim<Out>{s.out});
  return conv;
}
X input_of(const Sizes& s) {
  return random_normal(Key::from_seed(3), 0, 1, Dim<Batch>{s.batch}, Dim<In>{s.in}, Dim<Time>{s.time});
}

std::vector<Sizes> cases() {
  return {{},
          {.stride = 2},
          {.padding = 0},
          {.time = 10, .stride = 2},
          {.taps = 1, .padding = 0},
          {.time = 8, .taps = 4, .stride = 3, .padding = 2},
          {.time = 3, .padding = 0}};
}

TEST(Conv1d, IsItsDefinition) {
  for (const Sizes& s : cases()) {
    const Conv conv = conv_of(s);
    const X x = input_of(s);
    const auto y = conv(x);
    static_assert(std::is_same_v<axes_of<decltype(y)>, Axes<Batch, Time, Out>>);
    EXPECT_EQ(y.size<Time>(), s.places());
    const auto want = expected(s, x.to_vector(), conv.weight.to_vector(), conv.bias.to_vector());
    const auto got = y.to_vector();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << i;
  }
}

// The sum over y² along each input's direction, by differences.
TEST(Conv1d, GradientsAreThoseOfDifferences) {
  for (const Sizes& s : cases()) {
    Conv conv = conv_of(s);
    X x = input_of(s);
    const auto loss = [&] {
      const auto y = conv(x);
      return total(y * y).array();
    };
    std::vector<core::Array*> arrays{&conv.weight.mutable_array(), &conv.bias.mutable_array(),
                                     &x.mutable_array()};
    const std::array names{conv.weight.operand().names, conv.bias.operand().names, x.operand().names};
    const auto result = core::value_and_grad(arrays, loss);
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const auto gradient = result.gradients[k].to_vector<float>();
      for (std::size_t i = 0; i < gradient.size(); i += 5) {
        const core::Array before = *arrays[k];
        const auto loss_with = [&](float change) {
          auto values = before.to_vector<float>();
          values[i] += change;
          *arrays[k] = core::from_data({names[k], before.sizes()}, values);
          return loss().item();
        };
        const double slope = (loss_with(0.01f) - loss_with(-0.01f)) / 0.02;
        *arrays[k] = before;
        ASSERT_NEAR(gradient[i], slope, 2e-2 + 2e-3 * std::abs(slope)) << k << " at " << i;
      }
    }
  }
}

TEST(Conv1d, RefusesAnInputShorterThanItsKernel) {
  const Conv conv = conv_of({.padding = 0});
  try {
    conv(input_of({.time = 2}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr("convolution: 2 places, padding included, for a kernel of 3 taps"));
  }
}

}  // namespace
}  // namespace bora::nn
