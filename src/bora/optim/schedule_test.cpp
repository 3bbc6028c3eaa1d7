// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/base/error.h"

namespace bora::optim {
namespace {

OptimizerConfig config(double learning_rate, double warmup, double min_lr_ratio,
                       std::string shape = "cosine") {
  OptimizerConfig c;
  c.learning_rate = learning_rate;
  c.warmup = warmup;
  c.min_lr_ratio = min_lr_ratio;
  c.lr_schedule.type = std::move(shape);
  return c;
}

template <class F>
std::string config_error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    return e.what();
  }
  return "no error";
}

TEST(Schedule, WarmupStableDecayInCyclesWithGivenBoundaries) {
  auto c = config(1e-3, 0, 0.1);
  c.decay = 0.1;
  c.cycles = std::vector<std::int64_t>{300, 700};
  const Schedule s(c, 1000);
  EXPECT_EQ(s.boundaries(), (std::vector<std::int64_t>{0, 300, 700, 1000}));
  EXPECT_DOUBLE_EQ(s(0), 1e-3);
  EXPECT_DOUBLE_EQ(s(269), 1e-3);
  EXPECT_LT(s(271), 1e-3);
  EXPECT_DOUBLE_EQ(s(300), 1e-3);
  EXPECT_DOUBLE_EQ(s(659), 1e-3);
  EXPECT_LT(s(661), 1e-3);
  EXPECT_DOUBLE_EQ(s(701), 1e-3);
  EXPECT_DOUBLE_EQ(s(969), 1e-3);
  EXPECT_LT(s(971), 1e-3);
}

TEST(Schedule, CosineWithWarmup) {
  const Schedule s(config(1e-2, 0.1, 0.1), 1000);
  EXPECT_DOUBLE_EQ(s(0), 0);
  EXPECT_DOUBLE_EQ(s(50), 5e-3);
  EXPECT_DOUBLE_EQ(s(100), 1e-2);
  EXPECT_NEAR(s(999), 1e-3, 1e-6);
  EXPECT_DOUBLE_EQ(s(1000), 1e-3);
  EXPECT_DOUBLE_EQ(s(5000), 1e-3);
  EXPECT_DOUBLE_EQ(s.peak(), 1e-2);
}

TEST(Schedule, TwoCyclesWithRewarmup) {
  auto c = config(1e-2, 0.2, 0.2, "linear");
  c.cycles = std::int64_t{2};
  c.rewarmup = 0.05;
  const Schedule s(c, 1000);
  EXPECT_DOUBLE_EQ(s(0), 0);
  EXPECT_DOUBLE_EQ(s(100), 1e-2);
  EXPECT_DOUBLE_EQ(s(300), 6e-3);
  EXPECT_DOUBLE_EQ(s(500), 2e-3);
  EXPECT_DOUBLE_EQ(s(525), 1e-2);
  EXPECT_LT(s(524), s(525));
  EXPECT_GT(s(525), s(526));
  EXPECT_NEAR(s(999), 2e-3, 2e-5);
}

TEST(Schedule, CycleLengthAndCyclesAgree) {
  for (int way = 0; way < 4; ++way) {
    auto c = config(5e-4, 50, 0.2, "linear");
    if (way == 0) c.cycle_length = 500.0;
    if (way == 1) c.cycles = std::int64_t{2};
    if (way == 2) c.cycle_length = 0.5;
    if (way == 3) c.cycle_length = std::vector<double>{500, 500};
    const Schedule s(c, 1000);
    EXPECT_DOUBLE_EQ(s(50), 5e-4);
    EXPECT_NEAR(s(499), 1e-4, 1e-6);
    EXPECT_DOUBLE_EQ(s(500), 5e-4);
    EXPECT_NEAR(s(749), 3e-4, 1e-6);
    EXPECT_NEAR(s(999), 1e-4, 1e-6);
  }
}

TEST(Schedule, WarmupOfFewSteps) {
  const Schedule s(config(2e-6, 0.03, 0), 861);
  EXPECT_DOUBLE_EQ(s(25), 2e-6);
  EXPECT_LT(s(24), 2e-6);
  EXPECT_NEAR(s(860), 0, 1e-10);
}

TEST(Schedule, InverseSquareRoot) {
  const Schedule s(config(1e-3, 0.1, 0.1, "inv_sqrt"), 100000);
  EXPECT_DOUBLE_EQ(s(5000), 5e-4);
  EXPECT_DOUBLE_EQ(s(10000), 1e-3);
  EXPECT_DOUBLE_EQ(s(40000), 1e-3 / 2);
  EXPECT_DOUBLE_EQ(s(99999), std::max(1e-4, 1e-3 / std::sqrt(9.9999)));
}

TEST(Schedule, TheOtherShapes) {
  auto c = config(1e-2, 0, 0.1, "constant");
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(99), 1e-2);

  c.lr_schedule = {.type = "inv"};
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(50), 1e-2 / (9 * 0.5 + 1));
  EXPECT_NEAR(Schedule(c, 100)(100), 1e-3, 1e-15);

  c.lr_schedule = {.type = "polynomial"};
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(0), 1e-2);
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(50), 9e-3 * 0.25 + 1e-3);

  c.lr_schedule = {.type = "inv_sqrt_decay"};
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(50), 1e-2 / std::sqrt(1 + 28.6 * 0.5));

  c.lr_schedule = {.type = "power", .batch_size = 128, .seq_length = 1024};
  const double at_90 = 128 * 4.6 * std::pow(90.0 * 128 * 1024, -0.51);
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(90), std::min(1e-2, at_90));
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(0), 1e-2);

  c.lr_schedule = {.type = "cosine", .exponent = 2};
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(50), 1e-2 * (0.9 * 0.25 + 0.1));
}

TEST(Schedule, CycleThatDoesNotDivideMakesTheLastOneLonger) {
  auto c = config(1e-2, 0, 0.1);
  c.cycle_length = 300.0;
  EXPECT_EQ(Schedule(c, 1000).boundaries(), (std::vector<std::int64_t>{0, 300, 600, 1000}));
  c.cycle_length = std::vector<double>{100, 0.5};
  EXPECT_EQ(Schedule(c, 1000).boundaries(), (std::vector<std::int64_t>{0, 100, 600, 1000}));
}

TEST(Schedule, Cooldown) {
  auto c = config(1e-2, 0, 0.1, "constant");
  c.cooldown = 0.2;
  const Schedule s(c, 100);
  EXPECT_DOUBLE_EQ(s(80), 1e-2);
  EXPECT_DOUBLE_EQ(s(90), 5.5e-3);
  EXPECT_DOUBLE_EQ(s(100), 1e-3);
}

// As in Levanter: a run that is cut short for a trial has the rates of the long one.
TEST(Schedule, AWarmupThatIsTooLongIsCut) {
  auto c = config(1e-2, 200, 0.1, "linear");
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(50), 2.5e-3);
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(99), Schedule(c, 1000)(99));
  c.warmup = 10;
  c.rewarmup = 60;
  c.cycles = std::vector<std::int64_t>{50, 80};
  const Schedule twice(c, 100);
  EXPECT_DOUBLE_EQ(twice(50), 1e-3);
  EXPECT_DOUBLE_EQ(twice(65), 1e-3 + 9e-3 / 4);
  EXPECT_DOUBLE_EQ(twice(80), 1e-3 + 9e-3 / 2) << "the next one rises from there";
}

TEST(Schedule, WhatDoesNotFitItsCycleIsTold) {
  const auto told = [](const OptimizerConfig& c) {
    std::string out;
    for (const auto& [key, message] : schedule_warnings(c, 100)) out += fmt::format("{} {}\n", key, message);
    return out;
  };
  auto c = config(1e-2, 200, 0.1, "linear");
  EXPECT_EQ(
      told(c),
      "warmup makes 200 steps, and the run has 100: the learning rate never reaches optimizer.learning_rate\n");
  c.warmup = 0.5;
  c.decay = 0.8;
  EXPECT_EQ(
      told(c),
      "decay makes 80 steps beside the 50 of optimizer.warmup = 0.5, and the run has 100: the learning rate "
      "falls in 50; null is all that is left\n");
  c.decay = 0.5;
  c.cooldown = 20;
  EXPECT_EQ(told(c), "");
  c.decay = 41;
  EXPECT_EQ(
      told(c),
      "decay makes 41 steps beside the 40 of optimizer.warmup = 0.5, and the run before optimizer.cooldown has "
      "80: the learning rate falls in 40; null is all that is left\n");
  c.cooldown = 0;
  c.decay.reset();
  c.warmup = 51;
  c.rewarmup = 60;
  c.cycles = std::vector<std::int64_t>{50, 80};
  EXPECT_EQ(
      told(c),
      "warmup makes 51 steps, and the cycle from step 0 has 50: the learning rate never reaches "
      "optimizer.learning_rate\nrewarmup makes 60 steps, and the cycle from step 50 has 30: the learning rate "
      "never reaches optimizer.learning_rate\n");
}

// Fractions that make 1 in all fit, however they are rounded.
TEST(Schedule, FractionsOfOneFitEveryLength) {
  auto c = config(1e-2, 0, 0.1, "linear");
  for (const double warmup : {0.1, 0.2, 0.3, 0.4, 0.7, 0.9}) {
    c.warmup = warmup;
    c.decay = 1 - warmup;
    for (std::int64_t steps = 1; steps < 500; ++steps)
      EXPECT_TRUE(schedule_warnings(c, steps).empty()) << warmup << " of " << steps;
  }
}

TEST(Schedule, ADecayIsCutToWhatTheWarmupLeaves) {
  auto c = config(1e-2, 20, 0.1, "linear");
  c.decay = 1000;
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(60), 5.5e-3);
  c.decay = 0;
  EXPECT_DOUBLE_EQ(Schedule(c, 100)(99), 1e-2);
}

TEST(Schedule, OneMeansAll) {
  EXPECT_EQ(length_in_steps(1, 500), 500);
  EXPECT_EQ(length_in_steps(2, 500), 2);
  EXPECT_EQ(length_in_steps(0.03, 861), 25);
}

TEST(Schedule, Gpt3) {
  EXPECT_DOUBLE_EQ(gpt3_schedule(0, 100, 1000, 1e-3, 1e-4), 0);
  EXPECT_DOUBLE_EQ(gpt3_schedule(50, 100, 1000, 1e-3, 1e-4), 5e-4);
  EXPECT_DOUBLE_EQ(gpt3_schedule(100, 100, 1000, 1e-3, 1e-4), 1e-3);
  EXPECT_DOUBLE_EQ(gpt3_schedule(600, 100, 1000, 1e-3, 1e-4), 5.5e-4);
  EXPECT_DOUBLE_EQ(gpt3_schedule(1100, 100, 1000, 1e-3, 1e-4), 1e-4);
  EXPECT_DOUBLE_EQ(gpt3_schedule(9999, 100, 1000, 1e-3, 1e-4), 1e-4);
}

TEST(Schedule, Errors) {
  auto c = config(1e-2, 10.5, 0.1);
  EXPECT_EQ(config_error_of([&] { Schedule(c, 100); }),
            "optimizer.warmup: 10.5 is neither a fraction (up to 1.0) nor a whole number of steps; nearest: "
            "10 or 11");
  c.warmup = -1;
  EXPECT_EQ(config_error_of([&] { Schedule(c, 100); }), "optimizer.warmup: -1 must not be negative");
  c.warmup = 0;
  EXPECT_EQ(config_error_of([&] { Schedule(c, 0); }), "optimizer: a schedule needs at least 1 step, not 0");
  c.cycles = std::int64_t{9'007'199'254'740'992};
  EXPECT_EQ(config_error_of([&] { Schedule(c, 100); }),
            "optimizer.cycles: makes 9007199254740992 cycles; at most 100 fit 100 steps");
  c.cycles = std::vector<std::int64_t>{50, 700};
  EXPECT_EQ(config_error_of([&] { Schedule(c, 500); }),
            "optimizer.cycles: a cycle begins at step 700, but there are 500 steps");
  c.cycles = std::vector<std::int64_t>{50, 40};
  EXPECT_EQ(config_error_of([&] { Schedule(c, 500); }),
            "optimizer.cycles: a cycle begins at step 40, not after the one at step 50");
  c.cycle_length = 10.0;
  EXPECT_EQ(config_error_of([&] { Schedule(c, 500); }),
            "optimizer.cycle_length: excludes cycles; give one of them");
  c.cycles = {};
  c.cooldown = 500;
  EXPECT_EQ(config_error_of([&] { Schedule(c, 500); }), "optimizer.cooldown: takes all of the 500 steps");
  EXPECT_EQ(config_error_of([&] { length_in_steps(1.5, 10); }),
            "length: 1.5 is neither a fraction (up to 1.0) nor a whole number of steps; nearest: 1 or 2");
  c.cooldown = 0;
  c.lr_schedule.type = "cos";
  EXPECT_EQ(config_error_of([&] { Schedule(c, 500); }), "lr_schedule: cos is unknown");
}

}  // namespace
}  // namespace bora::optim
