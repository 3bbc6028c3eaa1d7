// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "norm.h"

#include "testing.h"

namespace bora::cuda {
namespace {

using namespace testing;

constexpr float kEps = 1e-3F;

struct Shape {
  std::int64_t rows, n;
};
// One element, an odd number, no whole packs, a warp's and a block's whole, more than a block has packs.
const Shape kShapes[] = {{1, 1},    {3, 7},   {2, 256},  {33, 20}, {5, 768},
                         {2, 1000}, {65, 24}, {2, 1500}, {3, 4500}};
struct Parts {
  bool weight, bias, residual;
};
const Parts kParts[] = {{false, false, false}, {true, false, true}, {true, true, false}, {true, true, true}};

struct Expected {
  List<double> sum, y, mean, rstd;
};
Expected plain_forward(const Shape& s, bool centred, const List<double>& x, const List<double>& w,
                       const List<double>& b) {
  Expected e{x, List<double>(x.size()), {}, {}};
  for (std::int64_t r = 0; r < s.rows; ++r) {
    double mean = 0, var = 0;
    for (std::int64_t i = 0; centred && i < s.n; ++i) mean += x[r * s.n + i] / s.n;
    for (std::int64_t i = 0; i < s.n; ++i) var += std::pow(x[r * s.n + i] - mean, 2) / s.n;
    e.mean.push_back(mean);
    e.rstd.push_back(1 / std::sqrt(var + static_cast<double>(kEps)));
    for (std::int64_t i = 0; i < s.n; ++i) {
      const double u = (x[r * s.n + i] - mean) * e.rstd.back();
      e.y[r * s.n + i] = (w.empty() ? u : u * w[i]) + (b.empty() ? 0 : b[i]);
    }
  }
  return e;
}

struct Gradients {
  List<double> dx, dw, db;
};
Gradients plain_backward(const Shape& s, bool centred, const Expected& e, const List<double>& w,
                         const List<double>& dy, const List<double>& dsum) {
  Gradients g{List<double>(dy.size()), List<double>(s.n), List<double>(s.n)};
  for (std::int64_t r = 0; r < s.rows; ++r) {
    double along = 0, shift = 0;
    const auto u = [&](std::int64_t i) { return (e.sum[r * s.n + i] - e.mean[r]) * e.rstd[r]; };
    const auto in = [&](std::int64_t i) { return dy[r * s.n + i] * (w.empty() ? 1 : w[i]); };
    for (std::int64_t i = 0; i < s.n; ++i) {
      along += in(i)*u(i) / s.n;
      shift += centred ? in(i) / s.n : 0;
      g.dw[i] += dy[r * s.n + i] * u(i);
      g.db[i] += dy[r * s.n + i];
    }
    for (std::int64_t i = 0; i < s.n; ++i) {
      g.dx[r * s.n + i] = e.rstd[r] * (in(i)-along * u(i) - shift) + (dsum.empty() ? 0 : dsum[r * s.n + i]);
    }
  }
  return g;
}

template <class T>
void check(const Shape& s, const Parts& p, bool centred) {
  const auto size = s.rows * s.n;
  const auto x = random<T>(size, 1, 3), residual = random<T>(p.residual ? size : 0, 2, 2),
             dy = random<T>(size, 3), dsum = random<T>(p.residual ? size : 0, 4);
  const auto w = random<float>(p.weight ? s.n : 0, 5), b = random<float>(p.bias && centred ? s.n : 0, 6);

  List<T> sum(residual.size()), y(size);
  List<float> mean(centred ? s.rows : 0), rstd(s.rows);
  List<float> largest(1), largest_dx(1);
  const NormForward<T> forward{s.rows,     s.n,           x.data(),    pointer(residual),
                               pointer(w), pointer(b),    kEps,        pointer(sum),
                               y.data(),   pointer(mean), rstd.data(), largest.data()};
  in_all_orders(
      [&] {
        largest[0] = 0;
        centred ? layer_norm_forward(forward, nullptr) : rms_norm_forward(forward, nullptr);
      },
      sum, y, mean, rstd, largest);
  EXPECT_EQ(largest[0], largest_in(y));
  List<double> added = wide(x);
  for (std::size_t i = 0; i < residual.size(); ++i)
    added[i] = to_float(from_float<T>(static_cast<float>(added[i]) + to_float(residual[i])));
  const Expected e = plain_forward(s, centred, added, wide(w), wide(b));
  EXPECT_EQ(wide(sum), p.residual ? e.sum : List<double>());
  // a row's mean is a rounded sum; what is left of a row of one element is that
  expect_close("y", y, e.y, {1e-5, 2e-5});
  expect_close("rstd", rstd, e.rstd, {1e-5, 1e-5});

  const auto& normed = p.residual ? sum : x;
  List<T> dx(size);
  List<float> dw(w.size()), db(b.size()), room(p.weight || p.bias ? norm_backward_room(s.rows, s.n) : 0);
  const NormBackward<T> backward{s.rows,      s.n,           normed.data(),    pointer(w), pointer(mean),
                                 rstd.data(), dy.data(),     pointer(dsum),    dx.data(),  pointer(dw),
                                 pointer(db), pointer(room), largest_dx.data()};
  in_all_orders(
      [&] {
        largest_dx[0] = 0;
        centred ? layer_norm_backward(backward, nullptr) : rms_norm_backward(backward, nullptr);
      },
      dx, dw, db, largest_dx);
  EXPECT_EQ(largest_dx[0], largest_in(dx));
  const Gradients g = plain_backward(s, centred, e, wide(w), wide(dy), wide(dsum));
  expect_close("dx", dx, g.dx, {1e-5, 2e-4});
  if (p.weight) expect_close("dweight", dw, g.dw, {1e-5, 2e-4});
  if (!b.empty()) expect_close("dbias", db, g.db, {1e-5, 2e-5});
}

TEST(CudaNorm, AgreesWithThePlainFormula) {
  for_both_types([](auto t) {
    for (const Shape& s : kShapes) {
      for (const Parts& p : kParts) {
        // all parts with each shape; fewer of them with two
        if (!(p.weight && p.bias && p.residual) && s.n != 7 && s.n != 20) continue;
        for (const bool centred : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << s.rows << " x " << s.n << ", weight " << p.weight << ", bias " << p.bias
                       << ", residual " << p.residual << ", centred " << centred);
          check<decltype(t)>(s, p, centred);
        }
      }
    }
  });
}

TEST(CudaNorm, HasTheSameBitsWhereverItsArraysLie) {
  const std::int64_t rows = 3, n = 64;
  const auto x = random<Bf16>(rows * n + 1, 1);
  List<Bf16> aside(x.begin() + 1, x.end());  // the same values, from an odd address
  List<Bf16> y(rows * n), again(rows * n);
  List<float> rstd(rows);
  rms_norm_forward<Bf16>(
      {rows, n, x.data() + 1, nullptr, nullptr, nullptr, kEps, nullptr, y.data(), nullptr, rstd.data()},
      nullptr);
  rms_norm_forward<Bf16>(
      {rows, n, aside.data(), nullptr, nullptr, nullptr, kEps, nullptr, again.data(), nullptr, rstd.data()},
      nullptr);
  EXPECT_EQ(wide(y), wide(again));
}

TEST(CudaNorm, SaysWhatIsNotFinite) {
  const std::int64_t rows = 3, n = 64;
  auto x = random<Bf16>(rows * n, 1);
  List<Bf16> y(rows * n);
  List<float> rstd(rows), largest(1);
  x[100] = from_float<Bf16>(INFINITY);
  rms_norm_forward<Bf16>({rows, n, x.data(), nullptr, nullptr, nullptr, kEps, nullptr, y.data(), nullptr,
                          rstd.data(), largest.data()},
                         nullptr);
  EXPECT_TRUE(std::isnan(largest[0]));
}

// The sums over rows do not fit into a block's own memory.
TEST(CudaNorm, OfVeryWideRows) { check<Bf16>({34, 6200}, {true, true, true}, true); }

// As plugins/fake_device/launches_test.cpp counts them.
TEST(CudaNorm, OneLaunchForwardAndTwoBackward) {
  const std::int64_t rows = 40, n = 24;
  const auto x = random<Bf16>(rows * n, 1), dy = random<Bf16>(rows * n, 2);
  const auto w = random<float>(n, 3), b = random<float>(n, 4);
  List<Bf16> sum(rows * n), y(rows * n), dx(rows * n);
  List<float> mean(rows), rstd(rows), dw(n), db(n), room(norm_backward_room(rows, n));
  const auto counted = [](const auto& body) {
    const auto before = host::launches();
    body();
    return host::launches() - before;
  };
  EXPECT_EQ(counted([&] {
              layer_norm_forward<Bf16>({rows, n, x.data(), dy.data(), w.data(), b.data(), kEps, sum.data(),
                                        y.data(), mean.data(), rstd.data()},
                                       nullptr);
            }),
            1);
  EXPECT_EQ(counted([&] {
              layer_norm_backward<Bf16>({rows, n, sum.data(), w.data(), mean.data(), rstd.data(), dy.data(),
                                         x.data(), dx.data(), dw.data(), db.data(), room.data()},
                                        nullptr);
            }),
            2);
}

}  // namespace
}  // namespace bora::cuda
