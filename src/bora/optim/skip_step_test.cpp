// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/skip_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bora/base/error.h"

namespace bora::optim {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double wobble(int i) { return 2 + 0.1 * (i % 3); }

// A skip-step that has seen `steps` ordinary steps.
SkipStep seasoned(int steps, std::int64_t window = 128) {
  SkipStep skip({.rolling_interval_length = window});
  for (int i = 0; i < steps; ++i) EXPECT_FALSE(skip.should_skip(wobble(i), wobble(i))) << i;
  return skip;
}

TEST(RollingWindow, FillsAndWraps) {
  RollingWindow window(3);
  for (int i = 1; i <= 3; ++i) window.record(i);
  EXPECT_EQ(window.count(), 3u);
  EXPECT_DOUBLE_EQ(window.bound(0), 2);
  window.record(10);  // 2, 3, 10
  EXPECT_EQ(window.count(), 3u);
  EXPECT_DOUBLE_EQ(window.bound(0), 5);
  EXPECT_EQ(window.save(), Json({2.0, 3.0, 10.0}));
  EXPECT_DOUBLE_EQ(window.bound(1), 5 + std::sqrt((9.0 + 4 + 25) / 3));
}

TEST(RollingWindow, TheDeviationHasAFloor) {
  RollingWindow window(3);
  window.record(1);
  window.record(1);
  EXPECT_DOUBLE_EQ(window.bound(2), 1 + 2e-6);
}

TEST(RollingWindow, DoesNotRecordWhatIsNotFinite) {
  RollingWindow window(3);
  window.record(kNan);
  window.record(INFINITY);
  EXPECT_EQ(window.count(), 0u);
}

TEST(RollingWindow, LoadsIntoAnotherLength) {
  RollingWindow five(5), two(2);
  for (int i = 0; i < 7; ++i) five.record(i);
  two.load(five.save(), "w", 100);
  EXPECT_EQ(two.save(), Json({5.0, 6.0}));
  EXPECT_THROW(two.load(Json("x"), "w", 100), Error);
}

TEST(SkipStep, NeverBeforeHalfTheWindow) {
  SkipStep skip = seasoned(63);
  EXPECT_FALSE(skip.should_skip(1000, 2));
  skip = seasoned(64);
  EXPECT_TRUE(skip.should_skip(1000, 2));
  EXPECT_EQ(skip.skipped(), 1);
}

TEST(SkipStep, TheGradientNormCountsToo) { EXPECT_TRUE(seasoned(64).should_skip(2, 1000)); }

TEST(SkipStep, TheBoundIsSigmaDeviations) {
  SkipStep a = seasoned(66), b = seasoned(66);  // mean 2.1, deviation 0.1·sqrt(2/3)
  const double bound = 2.1 + 6 * 0.1 * std::sqrt(2.0 / 3);
  EXPECT_FALSE(a.should_skip(bound - 1e-6, 2));
  EXPECT_TRUE(b.should_skip(bound + 1e-6, 2));
}

TEST(SkipStep, WhatIsNotFiniteIsAlwaysSkippedAndDoesNotPoison) {
  SkipStep skip = seasoned(3);
  EXPECT_TRUE(skip.should_skip(kNan, 2));
  EXPECT_TRUE(skip.should_skip(2, INFINITY));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(skip.should_skip(wobble(i), wobble(i)));
  EXPECT_TRUE(skip.should_skip(1000, 2));
}

TEST(SkipStep, ALastingChangeIsAcceptedInTheEnd) {
  SkipStep skip = seasoned(16, 16);
  int steps = 0;
  while (skip.should_skip(5 + 0.1 * (steps % 2), 2)) ++steps;
  EXPECT_GT(steps, 0);
  EXPECT_LT(steps, 16);
}

TEST(SkipStep, StateContinuesWhereItStopped) {
  SkipStep a = seasoned(100), b({});
  b.load_state(parse_json(a.save_state().dump(), "state"), 100);
  EXPECT_EQ(a.save_state(), b.save_state());
  EXPECT_TRUE(b.should_skip(1000, 2));
}

TEST(SkipStep, LoadsFromARunWithoutIt) {
  SkipStep skip = seasoned(100);
  skip.load_state(Json(), 100);
  EXPECT_FALSE(skip.should_skip(1000, 2));
}

TEST(SkipStep, RefusesWhatCannotBe) {
  const auto error = [](const char* key, const Json& value) -> std::string {
    SkipStep skip({});
    auto state = seasoned(3).save_state();
    if (value.is_discarded())
      state.erase(key);
    else
      state[key] = value;
    try {
      skip.load_state(state, 5);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
    return "no error";
  };
  const Json missing(Json::value_t::discarded);
  EXPECT_EQ(error("skipped", -1), "skip_step.skipped is -1 after 5 steps");
  EXPECT_EQ(error("skipped", 6), "skip_step.skipped is 6 after 5 steps");
  EXPECT_EQ(error("skipped", 5), "no error");
  EXPECT_EQ(error("skipped", missing), "skip_step: skipped is missing");
  EXPECT_EQ(error("losses", missing), "skip_step.losses should be a list of numbers");
  EXPECT_EQ(error("losses", Json::parse("[1, null]")),
            "skip_step.losses should be a list of finite numbers but holds null");
  EXPECT_EQ(error("losses", Json::parse("[1, \"NaN\"]")),
            "skip_step.losses should be a list of finite numbers but holds \"NaN\"");
  EXPECT_EQ(error("gradient_norms", Json::parse("[1, 1, 1, 1, 1, 1]")),
            "skip_step.gradient_norms has 6 values after 5 steps");
}

}  // namespace
}  // namespace bora::optim
