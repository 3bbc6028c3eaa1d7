// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/sgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bora/core/kernels/cpu/threads.h"
#include "bora/optim/test_parameters.h"

namespace bora::optim {
namespace {

SgdConfig config(bool nesterov = false) {
  SgdConfig c;
  c.momentum = 0.8;
  c.nesterov = nesterov;
  return c;
}

// torch.optim.SGD's formula in double, with the decay of AdamW.
std::vector<double> by_hand(const SgdConfig& c, std::size_t i, std::vector<double> p, int steps) {
  std::vector<double> m(p.size(), 0);
  for (int step = 0; step < steps; ++step) {
    const auto gradients = gradients_of_step(step);
    const double norm = 0.25 * global_norm(gradients);
    const double scale = 0.25 * std::min(1.0, *c.max_grad_norm / norm);
    const auto g = gradients[i].to_vector<double>();
    for (std::size_t k = 0; k < p.size(); ++k) {
      m[k] = c.momentum * m[k] + scale * g[k];
      const double u = c.nesterov ? scale * g[k] + c.momentum * m[k] : m[k];
      p[k] -= 0.1 * (u + (i == 1 ? c.weight_decay : 0) * p[k]);
    }
  }
  return p;
}

void expect_follows(const SgdConfig& c) {
  Model model;
  const auto parameters = model.parameters();
  const std::vector<double> before[] = {model.arrays[0].to_vector<double>(),
                                        model.arrays[1].to_vector<double>()};
  Sgd sgd(c, parameters);
  for (std::int64_t step = 0; step < 10; ++step)
    sgd.step(parameters, gradients_of_step(step),
             {.step = step, .learning_rate = 0.1, .gradient_scale = 0.25});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto want = by_hand(c, i, before[i], 10), have = model.arrays[i].to_vector<double>();
    for (std::size_t k = 0; k < want.size(); ++k) ASSERT_NEAR(have[k], want[k], 2e-6) << i << " " << k;
  }
}

TEST(Sgd, FollowsTheFormulaInDouble) { expect_follows(config()); }
TEST(Sgd, Nesterov) { expect_follows(config(true)); }

TEST(Sgd, AMissingGradientCountsAsZeros) {
  Model model;
  const auto parameters = model.parameters();
  const auto before = model.arrays[0].to_vector<float>();
  Sgd sgd(config(), parameters);
  sgd.step(parameters, std::vector<core::Array>(2), {.learning_rate = 0.1});
  EXPECT_EQ(model.arrays[0].to_vector<float>(), before);  // a norm: no decay either
}

TEST(Sgd, ReportsNormAndClipFactor) {
  Model model;
  const auto parameters = model.parameters();
  Sgd sgd(config(), parameters);
  const auto gradients = gradients_of_step(0);
  const auto report = sgd.step(parameters, gradients, {.learning_rate = 0.1, .gradient_scale = 0.5});
  EXPECT_DOUBLE_EQ(report.gradient_norm, global_norm(gradients) * 0.5);
  EXPECT_DOUBLE_EQ(report.clip_factor, 1 / report.gradient_norm);
}

TEST(Sgd, StateMovesToAnotherOptimizerBitForBit) {
  Model a, b;
  const auto pa = a.parameters(), pb = b.parameters();
  Sgd first(config(), pa), second(config(), pb);
  for (std::int64_t step = 0; step < 3; ++step) first.step(pa, gradients_of_step(step), {step, 0.1});
  const auto from = first.state(), to = second.state();
  ASSERT_EQ(from.size(), 2u);
  EXPECT_EQ(from[1].name, "momentum/proj.weight");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto bytes = sizeof(float) * static_cast<std::size_t>(kSizes[i]);
    std::memcpy(to[i].array.data<float>(), from[i].array.data<float>(), bytes);
    std::memcpy(b.arrays[i].data<float>(), a.arrays[i].data<float>(), bytes);
  }
  second.load_state(first.save_state(), 3);
  first.step(pa, gradients_of_step(3), {3, 0.1});
  second.step(pb, gradients_of_step(3), {3, 0.1});
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(a.arrays[i].to_vector<float>(), b.arrays[i].to_vector<float>());
}

TEST(Sgd, Errors) {
  Model model;
  const auto parameters = model.parameters();
  Sgd sgd(config(), parameters);
  EXPECT_EQ(error_of([&] { sgd.step(parameters, std::vector<core::Array>(1), {}); }),
            "sgd: made for 2 parameters, but got 2 with 1 gradients");
}

}  // namespace
}  // namespace bora::optim
