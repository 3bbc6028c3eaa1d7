// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/norm.h"

#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;
using Doubles = std::vector<double>;

/// Both norms in double precision; `centred` is layer norm.
struct Reference {
  Doubles y, mean, rstd, dx, dweight, dbias;
};

Reference reference(std::size_t rows, std::size_t n, bool centred, const Floats& x, const Floats& w,
                    const Floats& b, double eps, const Floats& dy) {
  Reference r{Doubles(rows * n), Doubles(rows), Doubles(rows), Doubles(rows * n), Doubles(n), Doubles(n)};
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0, square = 0, mean_g = 0, mean_gh = 0;
    const auto at = [&](const Floats& v, std::size_t j) { return static_cast<double>(v[i * n + j]); };
    const auto weight = [&](std::size_t j) { return w.empty() ? 1.0 : static_cast<double>(w[j]); };
    for (std::size_t j = 0; j < n; ++j) sum += at(x, j);
    const double mean = centred ? sum / static_cast<double>(n) : 0;
    for (std::size_t j = 0; j < n; ++j) square += (at(x, j) - mean) * (at(x, j) - mean);
    const double rstd = 1 / std::sqrt(square / static_cast<double>(n) + eps);
    r.mean[i] = mean;
    r.rstd[i] = rstd;
    for (std::size_t j = 0; j < n; ++j) {
      const double h = (at(x, j) - mean) * rstd, g = at(dy, j) * weight(j);
      r.y[i * n + j] = h * weight(j) + (b.empty() ? 0.0 : static_cast<double>(b[j]));
      mean_g += centred ? g / static_cast<double>(n) : 0;
      mean_gh += g * h / static_cast<double>(n);
      r.dweight[j] += at(dy, j) * h;
      r.dbias[j] += at(dy, j);
    }
    for (std::size_t j = 0; j < n; ++j) {
      const double h = (at(x, j) - mean) * rstd;
      r.dx[i * n + j] = rstd * (at(dy, j) * weight(j) - mean_g - h * mean_gh);
    }
  }
  return r;
}

constexpr std::int64_t kWidths[] = {1, 5, 8, 13, 64, 100, 768};

TEST(Norm, RmsAgreesWithDoublePrecision) {
  for (std::int64_t n : kWidths) {
    for (bool weighted : {true, false}) {
      const std::int64_t rows = 37;
      const Floats x = random_floats(rows * n, 1), dy = random_floats(rows * n, 2);
      const Floats w = weighted ? random_floats(n, 3) : Floats();
      const float* weight = weighted ? w.data() : nullptr;
      Floats y(x.size()), rstd(37), dx(x.size()), dw(static_cast<std::size_t>(n));
      rms_norm_forward(rows, n, x.data(), weight, 1e-5F, y.data(), rstd.data());
      rms_norm_backward(rows, n, x.data(), weight, rstd.data(), dy.data(), dx.data(),
                        weighted ? dw.data() : nullptr);
      const Reference r = reference(37, static_cast<std::size_t>(n), false, x, w, {}, 1e-5, dy);
      expect_close(y, r.y, 1e-6, 1e-7);
      expect_close(rstd, r.rstd, 1e-6, 0);
      expect_close(dx, r.dx, 1e-5,
                   n == 1 ? 2e-2 : 3e-6);  // one element: a difference of nearly equal numbers
      if (weighted) expect_close(dw, r.dweight, 1e-5, 1e-5);
    }
  }
}

TEST(Norm, LayerAgreesWithDoublePrecision) {
  for (std::int64_t n : kWidths) {
    if (n == 1) continue;
    const std::int64_t rows = 53;
    Floats x = random_floats(rows * n, 4);
    for (float& v : x) v += 3.0F;  // far from zero: the padding of the last vector must not count
    const Floats dy = random_floats(rows * n, 5), w = random_floats(n, 6), b = random_floats(n, 7);
    Floats y(x.size()), mean(53), rstd(53), dx(x.size()), dw(w.size()), db(w.size());
    layer_norm_forward(rows, n, x.data(), w.data(), b.data(), 1e-5F, y.data(), mean.data(), rstd.data());
    layer_norm_backward(rows, n, x.data(), w.data(), mean.data(), rstd.data(), dy.data(), dx.data(),
                        dw.data(), db.data());
    const Reference r = reference(53, static_cast<std::size_t>(n), true, x, w, b, 1e-5, dy);
    expect_close(y, r.y, 1e-5, 2e-5);
    expect_close(mean, r.mean, 4e-6, 0);
    expect_close(rstd, r.rstd, 5e-6, 0);
    expect_close(dx, r.dx, 1e-4, 6e-5);
    expect_close(dw, r.dweight, 1e-5, 2e-4);
    expect_close(db, r.dbias, 1e-5, 1e-5);
  }
}

TEST(Norm, WeightAndBiasAreOptional) {
  const Floats x = random_floats(3 * 9, 8), dy = random_floats(3 * 9, 9), ones(9, 1.0F), zeros(9, 0.0F);
  Floats y(27), z(27), mean(3), rstd(3), dx(27), dz(27), db(9);
  layer_norm_forward(3, 9, x.data(), nullptr, nullptr, 1e-5F, y.data(), mean.data(), rstd.data());
  layer_norm_forward(3, 9, x.data(), ones.data(), zeros.data(), 1e-5F, z.data(), mean.data(), rstd.data());
  EXPECT_EQ(y, z);
  layer_norm_backward(3, 9, x.data(), nullptr, mean.data(), rstd.data(), dy.data(), dx.data(), nullptr,
                      nullptr);
  layer_norm_backward(3, 9, x.data(), ones.data(), mean.data(), rstd.data(), dy.data(), dz.data(), nullptr,
                      db.data());
  EXPECT_EQ(dx, dz);
  EXPECT_FLOAT_EQ(db[0], dy[0] + dy[9] + dy[18]);
}

TEST(Norm, ColumnSums) {
  for (std::int64_t rows : {0, 1, 15, 17, 700}) {
    for (std::int64_t n : {1, 7, 5000}) {
      const Floats x = random_floats(rows * n, 10);
      Floats out(static_cast<std::size_t>(n), 9.0F);
      column_sums(rows, n, x.data(), out.data());
      Doubles expected(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < x.size(); ++i)
        expected[i % static_cast<std::size_t>(n)] += static_cast<double>(x[i]);
      expect_close(out, expected, 1e-5, 1e-5);
    }
  }
}

TEST(Norm, BitsDoNotDependOnThreads) {
  const std::int64_t rows = 203, n = 100;
  const Floats x = random_floats(rows * n, 11), dy = random_floats(rows * n, 12), w = random_floats(n, 13);
  expect_equal_bits([&] {
    Floats y(x.size()), mean(203), rstd(203), dx(x.size()), dw(100), db(100), rx(x.size()), rw(100),
        sums(100);
    layer_norm_forward(rows, n, x.data(), w.data(), w.data(), 1e-5F, y.data(), mean.data(), rstd.data());
    layer_norm_backward(rows, n, x.data(), w.data(), mean.data(), rstd.data(), dy.data(), dx.data(),
                        dw.data(), db.data());
    rms_norm_forward(rows, n, x.data(), w.data(), 1e-5F, y.data(), rstd.data());
    rms_norm_backward(rows, n, x.data(), w.data(), rstd.data(), dy.data(), rx.data(), rw.data());
    column_sums(rows, n, x.data(), sums.data());
    return join({y, dx, dw, db, rx, rw, sums});
  });
}

TEST(Norm, OfBfloat16sIsThatOfTheirNumbersRounded) {
  const std::int64_t rows = 203, n = 100;
  const Halves x(random_floats(rows * n, 21)), dy(random_floats(rows * n, 22));
  const Floats w = random_floats(n, 23), b = random_floats(n, 24);
  const std::size_t size = x.wide.size();
  // one norm or the other, of either type: y and dx, and all that stays in fp32
  const auto layer = [&](Values in, Values g, Results y, Results dx) {
    Floats mean(203), rstd(203), dw(100), db(100);
    layer_norm_forward(rows, n, in, w.data(), b.data(), 1e-5F, y, mean.data(), rstd.data());
    layer_norm_backward(rows, n, in, w.data(), mean.data(), rstd.data(), g, dx, dw.data(), db.data());
    return join({mean, rstd, dw, db});
  };
  const auto rms = [&](Values in, Values g, Results y, Results dx) {
    Floats rstd(203), dw(100), sums(100);
    rms_norm_forward(rows, n, in, w.data(), 1e-5F, y, rstd.data());
    rms_norm_backward(rows, n, in, w.data(), rstd.data(), g, dx, dw.data());
    column_sums(rows, n, in, sums.data());
    return join({rstd, dw, sums});
  };
  const auto compare = [&](const auto& norm) {
    Floats y(size), dx(size);
    Halves y2(size), dx2(size);
    EXPECT_EQ(norm(x.wide.data(), dy.wide.data(), y.data(), dx.data()),
              norm(x.values(), dy.values(), y2.results(), dx2.results()));
    EXPECT_EQ(y2.halves, Halves(y).halves);
    EXPECT_EQ(dx2.halves, Halves(dx).halves);
  };
  compare(layer);
  compare(rms);
}

}  // namespace
}  // namespace bora::kernels
