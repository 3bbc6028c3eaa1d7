// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/activation.h"

#include <limits>

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

constexpr Activation kAll[] = {Activation::silu,       Activation::gelu, Activation::gelu_tanh,
                               Activation::quick_gelu, Activation::relu, Activation::sigmoid,
                               Activation::tanh};

double reference(Activation f, double x) {
  switch (f) {
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::quick_gelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  return 0;
}

double slope(Activation f, double x) {
  const double h = 1e-5;
  return (reference(f, x + h) - reference(f, x - h)) / (2 * h);
}

TEST(Activation, AgreesWithDoublePrecision) {
  for (Activation f : kAll) {
    SCOPED_TRACE(static_cast<int>(f));
    for (std::int64_t n : {1, 7, 8, 16, 31, 1000}) {
      const Floats x = random_floats(n, 1, 12.0F);
      Floats y(x.size());
      activate(f, n, x.data(), y.data());
      std::vector<double> expected;
      for (float v : x) expected.push_back(reference(f, static_cast<double>(v)));
      expect_close(y, expected, 1e-5, 1e-30);
    }
  }
}

TEST(Activation, SmallArgumentsOfTanhKeepRelativeAccuracy) {
  const Floats x = random_floats(1000, 2, 0.7F);
  Floats y(x.size());
  activate(Activation::tanh, 1000, x.data(), y.data());
  std::vector<double> expected;
  for (float v : x) expected.push_back(std::tanh(static_cast<double>(v)));
  expect_close(y, expected, 4e-7, 0);
}

TEST(Activation, NanIsNeverHidden) {
  const Floats x(3, std::numeric_limits<float>::quiet_NaN());
  for (Activation f : kAll) {
    Floats y(3);
    activate(f, 3, x.data(), y.data());
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[2])) << static_cast<int>(f);
  }
}

TEST(Activation, BackwardIsTheDerivative) {
  for (Activation f : kAll) {
    SCOPED_TRACE(static_cast<int>(f));
    const std::int64_t n = 1003;
    const Floats x = random_floats(n, 3, 6.0F), dy = random_floats(n, 4);
    Floats dx(x.size());
    activate_backward(f, n, x.data(), dy.data(), dx.data());
    std::vector<double> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected.push_back(static_cast<double>(dy[i]) * slope(f, static_cast<double>(x[i])));
    }
    expect_close(dx, expected, 2e-5, 2e-6);
  }
}

TEST(Activation, GatedForwardAndBackward) {
  for (Activation f : kAll) {
    SCOPED_TRACE(static_cast<int>(f));
    const std::int64_t n = 517;
    const Floats gate = random_floats(n, 5, 5.0F), up = random_floats(n, 6), dy = random_floats(n, 7);
    Floats y(gate.size()), dgate(gate.size()), dup(gate.size());
    gated(f, n, gate.data(), up.data(), y.data());
    gated_backward(f, n, gate.data(), up.data(), dy.data(), dgate.data(), dup.data());
    std::vector<double> want_y, want_gate, want_up;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const auto g = static_cast<double>(gate[i]), u = static_cast<double>(up[i]),
                 d = static_cast<double>(dy[i]);
      want_y.push_back(reference(f, g) * u);
      want_gate.push_back(d * u * slope(f, g));
      want_up.push_back(d * reference(f, g));
    }
    expect_close(y, want_y, 5e-6, 1e-30);
    expect_close(dup, want_up, 5e-6, 1e-30);
    expect_close(dgate, want_gate, 2e-5, 2e-6);
  }
}

TEST(Activation, TailsRoundLikeWholeVectors) {
  const Floats x = random_floats(64, 8, 5.0F);
  for (Activation f : kAll) {
    Floats whole(64), part(64);
    activate(f, 64, x.data(), whole.data());
    for (std::int64_t i = 0; i < 64; ++i) activate(f, 1, x.data() + i, part.data() + i);
    EXPECT_EQ(whole, part) << static_cast<int>(f);
  }
}

TEST(Activation, BitsDoNotDependOnThreads) {
  const std::int64_t n = 50001;
  const Floats x = random_floats(n, 9, 5.0F), dy = random_floats(n, 10);
  expect_equal_bits([&] {
    Floats y(x.size()), dx(x.size()), dup(x.size());
    activate(Activation::gelu_tanh, n, x.data(), y.data());
    gated_backward(Activation::silu, n, x.data(), y.data(), dy.data(), dx.data(), dup.data());
    return join({y, dx, dup});
  });
}

TEST(Activation, BiasIsAddedToEveryRow) {
  const Floats bias = random_floats(13, 11), x = random_floats(5 * 13, 12);
  Floats y = x;
  add_bias(5, 13, bias.data(), y.data());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], x[i] + bias[i % 13]);
}

TEST(Activation, OfBfloat16sIsThatOfTheirNumbersRounded) {
  for (const std::int64_t n : {1, 1000, 1024, 1025, 20000}) {
    const Halves x(random_floats(n, 21, 5.0F)), up(random_floats(n, 22)), dy(random_floats(n, 23));
    const auto size = static_cast<std::size_t>(n);
    for (const Activation f : kAll) {
      Floats y(size), dx(size), gate(size), dgate(size), dup(size);
      activate(f, n, x.wide.data(), y.data());
      activate_backward(f, n, x.wide.data(), dy.wide.data(), dx.data());
      gated(f, n, x.wide.data(), up.wide.data(), gate.data());
      gated_backward(f, n, x.wide.data(), up.wide.data(), dy.wide.data(), dgate.data(), dup.data());
      Halves y2(size), dx2(size), gate2(size), dgate2(size), dup2(size);
      activate(f, n, x.values(), y2.results());
      activate_backward(f, n, x.values(), dy.values(), dx2.results());
      gated(f, n, x.values(), up.values(), gate2.results());
      gated_backward(f, n, x.values(), up.values(), dy.values(), dgate2.results(), dup2.results());
      EXPECT_EQ(y2.halves, Halves(y).halves) << n;
      EXPECT_EQ(dx2.halves, Halves(dx).halves) << n;
      EXPECT_EQ(gate2.halves, Halves(gate).halves) << n;
      EXPECT_EQ(dgate2.halves, Halves(dgate).halves) << n;
      EXPECT_EQ(dup2.halves, Halves(dup).halves) << n;
    }
  }
}

}  // namespace
}  // namespace bora::kernels
