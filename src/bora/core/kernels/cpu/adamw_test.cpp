// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/core/kernels/cpu/adamw.h"

#include "bora/core/kernels/cpu/chance.h"
#include "bora/core/kernels/cpu/test_arrays.h"

namespace bora::kernels {
namespace {

using namespace testing_arrays;

AdamW settings(bool nesterov) {
  return {.learning_rate = 0.01F,
          .beta1 = 0.9F,
          .beta2 = 0.95F,
          .epsilon = 1e-8F,
          .weight_decay = 0.1F,
          .correction1 = 1 - 0.729F,
          .correction2 = 1 - 0.857375F,
          .gradient_scale = 0.5F,
          .nesterov = nesterov,
          .correction1_next = 1 - 0.6561F};
}

TEST(AdamW, AgreesWithDoublePrecision) {
  for (bool nesterov : {false, true}) {
    for (std::int64_t n : {1, 9, 1000, 40001}) {
      const AdamW s = settings(nesterov);
      const Floats p0 = random_floats(n, 1), grad = random_floats(n, 2), m0 = random_floats(n, 3);
      Floats v0 = random_floats(n, 4), p = p0, m = m0;
      for (float& x : v0) x *= x;
      Floats v = v0;
      adamw(n, s, p.data(), grad.data(), m.data(), v.data());
      std::vector<double> want_p, want_m, want_v;
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double g = static_cast<double>(s.gradient_scale) * static_cast<double>(grad[i]);
        const auto b1 = static_cast<double>(s.beta1), b2 = static_cast<double>(s.beta2);
        const double mean = b1 * static_cast<double>(m0[i]) + (1 - b1) * g;
        const double square = b2 * static_cast<double>(v0[i]) + (1 - b2) * g * g;
        double step = mean / static_cast<double>(s.correction1);
        if (nesterov) {
          step = b1 * mean / static_cast<double>(s.correction1_next) +
                 (1 - b1) * g / static_cast<double>(s.correction1);
        }
        step /= std::sqrt(square / static_cast<double>(s.correction2)) + 1e-8;
        const auto before = static_cast<double>(p0[i]);
        want_m.push_back(mean);
        want_v.push_back(square);
        want_p.push_back(before - static_cast<double>(s.learning_rate) *
                                      (step + static_cast<double>(s.weight_decay) * before));
      }
      expect_close(m, want_m, 1e-6, 1e-7);
      expect_close(v, want_v, 1e-6, 1e-9);
      expect_close(p, want_p, 1e-6, 1e-6);
    }
  }
}

// The moments of before, widened; the parameter moves by moments that are not rounded yet.
TEST(AdamW, RoundsMomentsInBf16ByChance) {
  const std::int64_t n = 40001;
  const Floats p0 = random_floats(n, 1), grad = random_floats(n, 2);
  Floats squares = random_floats(n, 4);
  for (float& x : squares) x *= x;
  Halves m(random_floats(n, 3)), v(squares);
  Floats p = p0, p2 = p0, m2 = m.wide, v2 = v.wide;
  const Rounding rounding{5, 6, {}};
  adamw(n, settings(true), p.data(), grad.data(), m.halves.data(), v.halves.data(), rounding);
  adamw(n, settings(true), p2.data(), grad.data(), m2.data(), v2.data());
  EXPECT_EQ(p, p2);
  std::vector<std::uint16_t> want_m(p.size()), want_v(p.size());
  by_chance(n, m2.data(), want_m.data(), Half::low, rounding);
  by_chance(n, v2.data(), want_v.data(), Half::high, rounding);
  EXPECT_EQ(m.halves, want_m);
  EXPECT_EQ(v.halves, want_v);
}

TEST(AdamW, BitsDoNotDependOnThreadsNorOnWhereATensorIsCut) {
  const std::int64_t n = 70001;
  const Floats grad = random_floats(n, 5);
  const auto run = [&](std::int64_t cut) {
    Floats p = random_floats(n, 6), m(p.size(), 0.1F), v(p.size(), 0.2F);
    adamw(cut, settings(false), p.data(), grad.data(), m.data(), v.data());
    adamw(n - cut, settings(false), p.data() + cut, grad.data() + cut, m.data() + cut, v.data() + cut);
    return join({p, m, v});
  };
  expect_equal_bits([&] { return run(0); });
  EXPECT_EQ(run(0), run(33333));
}

}  // namespace
}  // namespace bora::kernels
