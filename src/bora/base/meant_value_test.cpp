// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/meant_value.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

std::string meant(std::string_view text, ValueKind kind) { return meant_value(text, kind).value_or("?"); }

TEST(MeantValue, OfIntegers) {
  constexpr auto kind = ValueKind::Integer;
  EXPECT_EQ(meant("1k", kind), "1000");
  EXPECT_EQ(meant("1.5M", kind), "1500000");
  EXPECT_EQ(meant("2 B", kind), "2000000000");
  EXPECT_EQ(meant("1,000", kind), "1000");
  EXPECT_EQ(meant("1,234,567", kind), "1234567");
  EXPECT_EQ(meant("\u221216", kind), "-16");
  EXPECT_EQ(meant("\u201C16\u201D", kind), "16");
  for (const char* text : {"1.5", "1,00", ",000", "k", "", "abc", "50%", "1e300k", "16"})
    EXPECT_EQ(meant(text, kind), "?") << text;
}

TEST(MeantValue, OfNumbers) {
  constexpr auto kind = ValueKind::Number;
  EXPECT_EQ(meant("50%", kind), "0.5");
  EXPECT_EQ(meant("2e\u22123", kind), "2e-3");
  EXPECT_EQ(meant("2e\u20133", kind), "2e-3");
  EXPECT_EQ(meant("2k", kind), "2000");
  EXPECT_EQ(meant("0,5", kind), "?");
  EXPECT_EQ(meant("x%", kind), "?");
}

TEST(MeantValue, OfTruth) {
  constexpr auto kind = ValueKind::Bool;
  for (const char* text : {"yes", "Y", "ON", "1", "\u2018true\u2019"}) EXPECT_EQ(meant(text, kind), "true");
  for (const char* text : {"no", "N", "off", "0"}) EXPECT_EQ(meant(text, kind), "false");
  EXPECT_EQ(meant("perhaps", kind), "?");
}

TEST(MeantValue, OfDurations) {
  constexpr auto kind = ValueKind::Duration;
  EXPECT_EQ(meant("10min", kind), "10m");
  EXPECT_EQ(meant("1.5 hours", kind), "1.5h");
  EXPECT_EQ(meant("30 Seconds", kind), "30s");
  EXPECT_EQ(meant("2 d", kind), "2d");
  for (const char* text : {"min", "10", "10 weeks", ""}) EXPECT_EQ(meant(text, kind), "?") << text;
}

}  // namespace
}  // namespace bora
