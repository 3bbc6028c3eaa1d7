// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "activation.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

double value(Activation f, double x) {
  switch (f) {
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
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
  if (f == Activation::relu) return x > 0 ? 1 : 0;
  const double h = 1e-5;
  return (value(f, x + h) - value(f, x - h)) / (2 * h);
}

constexpr Activation kAll[] = {Activation::silu,       Activation::gelu, Activation::gelu_tanh,
                               Activation::quick_gelu, Activation::relu, Activation::sigmoid,
                               Activation::tanh};

TEST(CudaActivation, AgreesWithThePlainFormula) {
  for_both_types([](auto t) {
    using T = decltype(t);
    for (const Activation f : kAll) {
      for (const std::int64_t n : {1, 13, 2048, 2500}) {
        SCOPED_TRACE(::testing::Message() << "function " << static_cast<int>(f) << ", " << n << " elements");
        auto x = random<T>(n, 1, 6);
        if (n > 20) x[3] = from_float<T>(-200), x[5] = from_float<T>(200), x[7] = from_float<T>(0);
        const auto up = random<T>(n, 2, 3), dy = random<T>(n, 3);
        List<T> y(n), dx(n), z(n), dgate(n), dup(n);
        List<float> largest(4);
        in_all_orders(
            [&] {
              largest = List<float>(4);
              float* const most = largest.data();
              activate(f, n, x.data(), y.data(), nullptr, most);
              activate_backward(f, n, x.data(), dy.data(), dx.data(), nullptr, most + 1);
              gated(f, {1, n, n}, x.data(), up.data(), z.data(), nullptr, most + 2);
              gated_backward(f, {1, n, n, n}, x.data(), up.data(), dy.data(), dgate.data(), dup.data(),
                             nullptr, most + 3);
            },
            y, dx, z, dgate, dup, largest);
        EXPECT_EQ(largest[0], largest_in(y));
        EXPECT_EQ(largest[1], largest_in(dx));
        EXPECT_EQ(largest[2], largest_in(z));
        EXPECT_EQ(largest[3], std::max(largest_in(dgate), largest_in(dup)));
        List<double> want_y, want_dx, want_z, want_dgate, want_dup;
        for (std::int64_t i = 0; i < n; ++i) {
          const double a = to_float(x[i]), u = to_float(up[i]), g = to_float(dy[i]), v = value(f, a);
          want_y.push_back(v);
          want_dx.push_back(g * slope(f, a));
          want_z.push_back(v * u);
          want_dgate.push_back(g * u * slope(f, a));
          want_dup.push_back(g * v);
        }
        expect_close("y", y, want_y);
        expect_close("dx", dx, want_dx, {1e-5, 1e-5});
        expect_close("gated y", z, want_z, {2e-6, 1e-5});
        expect_close("dgate", dgate, want_dgate, {1e-5, 2e-5});
        expect_close("dup", dup, want_dup, {2e-6, 1e-5});
      }
    }
  });
}

// Gate and up as pieces of one product, and their gradients beside each other: the same as without gaps.
TEST(CudaActivation, OfRowsThatLieApart) {
  for_both_types([](auto t) {
    using T = decltype(t);
    for (const std::int64_t n : {8, 13, 40, 2056}) {
      const std::int64_t rows = 5, apart = 2 * n + (n == 40 ? 3 : 0), all = rows * apart;
      SCOPED_TRACE(n);
      const auto both = random<T>(all, 1, 3), dy = random<T>(rows * n, 2);
      List<T> y(rows * n), d(rows * 2 * n);
      List<float> largest(2);
      in_all_orders(
          [&] {
            largest = List<float>(2);
            gated(Activation::silu, {rows, n, apart}, both.data(), both.data() + n, y.data(), nullptr,
                  largest.data());
            gated_backward(Activation::silu, {rows, n, apart, 2 * n}, both.data(), both.data() + n, dy.data(),
                           d.data(), d.data() + n, nullptr, largest.data() + 1);
          },
          y, d, largest);
      EXPECT_EQ(largest[0], largest_in(y));
      EXPECT_EQ(largest[1], largest_in(d));
      List<T> want(n), dgate(n), dup(n);
      for (std::int64_t r = 0; r < rows; ++r) {
        const T *gate = both.data() + r * apart, *up = gate + n;
        gated(Activation::silu, {1, n, n}, gate, up, want.data(), nullptr);
        gated_backward(Activation::silu, {1, n, n, n}, gate, up, dy.data() + r * n, dgate.data(), dup.data(),
                       nullptr);
        for (std::int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(to_float(y[r * n + i]), to_float(want[i]));
          ASSERT_EQ(to_float(d[r * 2 * n + i]), to_float(dgate[i]));
          ASSERT_EQ(to_float(d[r * 2 * n + n + i]), to_float(dup[i]));
        }
      }
    }
  });
}

}  // namespace
}  // namespace bora::cuda
