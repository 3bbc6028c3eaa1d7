// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// A bug that cannot be written: linear regression.
#include "bora/named/grad.h"
#include "bora/named/ops.h"
#include "check.h"

using namespace bora;

// [program]
struct Batch : axis<"batch"> {};
struct Feature : axis<"feature"> {};

struct LinearModel {
  Named<Feature> weight;
  using fields = Fields<&LinearModel::weight>;
};

Named<> loss(const LinearModel& model, const Named<Batch, Feature>& x, const Named<Batch>& y) {
  auto prediction = dot<Feature>(x, model.weight);
  return mean<Batch>(square(prediction - y));
}
// [program]

// The wrong program has a weight [feature, target]. Its difference has an axis too many, and is no loss:
//   tests/diagnostics/matrix_bug.cpp
// A target whose axes the prediction lacks cannot be subtracted at all:
//   tests/diagnostics/two_sided_broadcast.cpp
struct Target : axis<"target"> {};
template <class P, class Y>
concept HasDifference = requires(const P& prediction, const Y& y) { prediction - y; };
static_assert(HasDifference<Named<Batch>, Named<Batch>>);
static_assert(!HasDifference<Named<Batch, Target>, Named<Batch, Feature>>);
static_assert(!std::is_convertible_v<decltype(mean<Batch>(Named<Batch, Target>())), Named<>>);

// The same by index: 2/n · Σ (x·w - y)·x is the gradient.
int main() {
  constexpr std::size_t n = 128, m = 64;
  auto [kx, ky, kw] = Key::from_seed(0).split<3>();
  auto x = random_normal(kx, 0, 1, Dim<Batch>{n}, Dim<Feature>{m});
  auto y = random_normal(ky, 0, 1, Dim<Batch>{n});
  LinearModel model{random_normal(kw, 0, 0.1, Dim<Feature>{m})};
  auto [value, gradients] = value_and_grad(model, [&](const LinearModel& at) { return loss(at, x, y); });

  auto xs = x.to_vector(), ys = y.to_vector(), ws = model.weight.to_vector();
  double mean_square = 0;
  std::vector<double> slope(m);
  for (std::size_t i = 0; i < n; ++i) {
    double error = -ys[i];
    for (std::size_t j = 0; j < m; ++j) error += static_cast<double>(xs[i * m + j]) * ws[j];
    mean_square += error * error / n;
    for (std::size_t j = 0; j < m; ++j) slope[j] += 2 * error * xs[i * m + j] / n;
  }
  expect_equal(value.to_vector(), {static_cast<float>(mean_square)}, "loss");
  expect_equal(gradients.weight.to_vector(), {slope.begin(), slope.end()}, "gradient");
}
