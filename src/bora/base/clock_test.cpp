// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/clock.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

TEST(Clock, MonotonicNeverGoesBack) {
  double before = monotonic_seconds();
  for (int i = 0; i < 1000; ++i) {
    const double now = monotonic_seconds();
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(Clock, WallIsInThisCentury) {
  EXPECT_GT(wall_seconds(), 1.7e9);
  EXPECT_LT(wall_seconds(), 4.2e9);
}

TEST(Clock, SecondsSinceStartAreThisProcess) {
  const double first = seconds_since_start();
  EXPECT_GE(first, 0);
  EXPECT_LT(first, 3600);  // not since boot, unless the machine is younger than this test
  EXPECT_GE(seconds_since_start(), first);
}

TEST(Clock, IsoTime) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_time(1772368205.9), "2026-03-01T12:30:05Z");
  EXPECT_EQ(iso_time(-0.5), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace bora
