// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/optim/clip.h"
#include "bora/optim/test_parameters.h"

namespace bora::optim {
namespace {

// The formulas in double, as PyTorch's AdamW computes them (decay first, then the Adam step), and NAdamW as
// in Optax.
struct Reference {
  explicit Reference(Model& model) {
    for (std::size_t i = 0; i < 2; ++i) {
      p[i] = model.arrays[i].to_vector<double>();
      m[i].assign(p[i].size(), 0);
      v[i] = m[i];
    }
  }
  void step(const AdamConfig& c, const std::vector<core::Array>& gradients, double lr, double scale) {
    ++t;
    double squares = 0;
    for (const auto& g : gradients) {
      for (const double x : g.to_vector<double>()) squares += x * x * scale * scale;
    }
    const double norm = std::sqrt(squares);
    if (c.max_grad_norm && norm > *c.max_grad_norm) scale *= *c.max_grad_norm / norm;
    const double wd = c.weight_decay * (c.adamc_weight_decay ? lr / c.learning_rate : 1);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto g = gradients[i].to_vector<double>();
      std::vector<double> u(g.size());
      double u2 = 0;
      for (std::size_t k = 0; k < g.size(); ++k) {
        const double x = g[k] * scale;
        m[i][k] = c.beta1 * m[i][k] + (1 - c.beta1) * x;
        v[i][k] = c.beta2 * v[i][k] + (1 - c.beta2) * x * x;
        double mean = m[i][k] / (1 - std::pow(c.beta1, t));
        if (c.nesterov) {
          mean = c.beta1 * m[i][k] / (1 - std::pow(c.beta1, t + 1)) +
                 (1 - c.beta1) * x / (1 - std::pow(c.beta1, t));
        }
        u[k] = mean / (std::sqrt(v[i][k] / (1 - std::pow(c.beta2, t))) + c.epsilon) +
               (i == 1 ? wd * p[i][k] : 0);
        u2 += u[k] * u[k];
      }
      const double rms = std::sqrt(u2 / static_cast<double>(u.size()));
      const double factor = c.update_rms_clipping ? 1 / std::max(1.0, rms / *c.update_rms_clipping) : 1;
      for (std::size_t k = 0; k < g.size(); ++k) p[i][k] -= lr * factor * u[k];
    }
  }
  std::vector<double> p[2], m[2], v[2];
  int t = 0;
};

void expect_follows(const AdamConfig& c) {
  Model model;
  Reference reference(model);
  const auto parameters = model.parameters();
  Adam adam(c, parameters);
  for (std::int64_t step = 0; step < 20; ++step) {
    const double lr = c.learning_rate * (1 - 0.03 * static_cast<double>(step));
    const auto gradients = gradients_of_step(step);
    reference.step(c, gradients, lr, 0.25);
    adam.step(parameters, gradients, {.step = step, .learning_rate = lr, .gradient_scale = 0.25});
  }
  double worst = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto have = model.arrays[i].to_vector<double>();
    for (std::size_t k = 0; k < have.size(); ++k)
      worst = std::max(worst, std::fabs(have[k] - reference.p[i][k]));
  }
  EXPECT_LT(worst, 2e-6);
}

AdamConfig base() {
  AdamConfig c;
  c.learning_rate = 1e-2;
  return c;
}

TEST(Adam, FollowsTheReferenceInDouble) { expect_follows(base()); }

TEST(Adam, WithoutClippingAndDecay) {
  auto c = base();
  c.max_grad_norm.reset();
  c.weight_decay = 0;
  expect_follows(c);
}

TEST(Adam, Nesterov) {
  auto c = base();
  c.nesterov = true;
  expect_follows(c);
}

TEST(Adam, DecayTimesRelativeRate) {
  auto c = base();
  c.adamc_weight_decay = true;
  c.weight_decay = 0.5;
  expect_follows(c);
}

TEST(Adam, UpdateRmsClipping) {
  auto c = base();
  c.update_rms_clipping = 0.3;
  expect_follows(c);
  c.update_rms_clipping = 100;  // never clips: the two ways of computing agree
  expect_follows(c);
}

TEST(Adam, UpdateNormClippingBoundsAnOutlier) {
  auto c = base();
  c.max_grad_norm.reset();
  c.clip_update_norm = UpdateClipConfig{.rolling_interval_length = 8};
  Model model;
  const auto parameters = model.parameters();
  Adam adam(c, parameters);
  double highest = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    const auto report = adam.step(parameters, gradients_of_step(step), {.step = step, .learning_rate = 1e-3});
    if (step >= 12) highest = std::max(highest, *report.update_norm);
  }
  const auto before = model.arrays[1].to_vector<double>();
  const auto report = adam.step(parameters, gradients_of_step(20, 1e4), {.step = 20, .learning_rate = 1e-3});
  const auto after = model.arrays[1].to_vector<double>();
  double squares = 0;
  for (std::size_t k = 0; k < after.size(); ++k) squares += (after[k] - before[k]) * (after[k] - before[k]);
  EXPECT_GT(*report.update_norm, 1.3 * highest);
  EXPECT_LT(std::sqrt(squares), 1e-3 * 1.1 * highest);
}

TEST(Adam, ReportsNormAndClipFactor) {
  Model model;
  const auto parameters = model.parameters();
  Adam adam(base(), parameters);
  const auto gradients = gradients_of_step(0);
  const double norm = global_norm(gradients);
  const auto report = adam.step(parameters, gradients, {.learning_rate = 1e-3, .gradient_scale = 0.5});
  EXPECT_DOUBLE_EQ(report.gradient_norm, norm * 0.5);
  EXPECT_DOUBLE_EQ(report.clip_factor, 1 / (norm * 0.5));
  EXPECT_FALSE(report.update_norm.has_value());
}

TEST(Adam, StateMovesToAnotherOptimizerBitForBit) {
  auto c = base();
  c.clip_update_norm = UpdateClipConfig{};
  Model a, b;
  const auto pa = a.parameters(), pb = b.parameters();
  Adam first(c, pa), second(c, pb);
  for (std::int64_t step = 0; step < 3; ++step) first.step(pa, gradients_of_step(step), {step, 1e-3});
  const auto from = first.state(), to = second.state();
  ASSERT_EQ(from.size(), 4u);
  EXPECT_EQ(from[0].name, "mu/norm.weight");
  EXPECT_EQ(from[3].name, "nu/proj.weight");
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(to[i].array.data<float>(), from[i].array.data<float>(),
                sizeof(float) * from[i].array.numel());
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::memcpy(b.arrays[i].data<float>(), a.arrays[i].data<float>(), sizeof(float) * kSizes[i]);
  }
  second.load_state(parse_json(first.save_state().dump(), "state"), 3);
  first.step(pa, gradients_of_step(3), {3, 1e-3});
  second.step(pb, gradients_of_step(3), {3, 1e-3});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::memcmp(a.arrays[i].data<float>(), b.arrays[i].data<float>(), sizeof(float) * kSizes[i]),
              0);
  }
  EXPECT_EQ(first.save_state(), second.save_state());

  const auto error = [&](const char* state) -> std::string {
    try {
      second.load_state(Json::parse(state), 3);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("null"), "optimizer: should be an object with updates but is null");
  EXPECT_EQ(error("{}"), "optimizer: updates is missing");
  EXPECT_EQ(error(R"({"updates": 4})"), "optimizer.updates is 4 after 3 steps");
  EXPECT_EQ(error(R"({"updates": -1})"), "optimizer.updates is -1 after 3 steps");
  EXPECT_EQ(error(R"({"updates": 3, "update_norms": [1, 2, 3, 4]})"),
            "optimizer.update_norms has 4 values after 3 steps");
}

TEST(Adam, EmptyGradientsCountAsZeros) {
  Model model;
  const auto parameters = model.parameters();
  const auto before = model.arrays[0].to_vector<float>();
  Adam adam(base(), parameters);
  adam.step(parameters, std::vector<core::Array>(2), {.learning_rate = 1e-2});
  EXPECT_EQ(model.arrays[0].to_vector<float>(), before);  // a norm: no decay either
}

TEST(Adam, Errors) {
  Model model;
  const auto parameters = model.parameters();
  Adam adam(base(), parameters);
  EXPECT_EQ(error_of([&] { adam.step(parameters, std::vector<core::Array>(1), {}); }),
            "adam: made for 2 parameters, but got 2 with 1 gradients");
  auto renamed = parameters;
  renamed[1].path = "other.weight";
  EXPECT_EQ(error_of([&] { adam.step(renamed, std::vector<core::Array>(2), {}); }),
            "adam: parameter 1 is other.weight, but was proj.weight when the optimizer was made");
  auto gradients = gradients_of_step(0);
  gradients[1] = random_array(0, 5);
  EXPECT_EQ(error_of([&] { adam.step(parameters, gradients, {}); }),
            "adam: proj.weight has 20003 elements, its gradient 5, its state 20003");
}

TEST(Clip, NormOverAllArraysAndFactor) {
  const std::int64_t two = 2, one = 1;
  const std::vector<float> a = {3, 0}, b = {4};
  const std::vector<core::Array> arrays = {core::from_data({kAxes, {&two, 1}}, std::span<const float>(a)),
                                           core::Array(),
                                           core::from_data({kAxes, {&one, 1}}, std::span<const float>(b))};
  EXPECT_DOUBLE_EQ(global_norm(arrays), 5);
  EXPECT_DOUBLE_EQ(clip_factor(5, 1.0), 0.2);
  EXPECT_DOUBLE_EQ(clip_factor(0.5, 1.0), 1);
  EXPECT_DOUBLE_EQ(clip_factor(5, std::nullopt), 1);
  EXPECT_DOUBLE_EQ(clip_factor(5, 0.0), 1);
}

}  // namespace
}  // namespace bora::optim
