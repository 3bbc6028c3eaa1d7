// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace bora::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Ticks, AreRoundNumbers) {
  EXPECT_THAT(ticks(0, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ticks(2.1, 8.9), ElementsAre(4, 6, 8));
  EXPECT_THAT(ticks(0, 4000), ElementsAre(0, 1000, 2000, 3000, 4000));
  EXPECT_THAT(ticks(1, 1), ElementsAre(1));
  EXPECT_LE(ticks(-1e300, 1e300).size(), 6U);
  EXPECT_LE(ticks(0, 5e-324).size(), 6U);
}

TEST(Stretches, HoldEveryFiniteValueOnce) {
  Curve curve;
  for (int i = 0; i < 1000; ++i) curve.push_back({i, i % 10 == 0 ? NAN : static_cast<double>(i)});
  const auto all = stretches(curve, 7);
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all.front().least, 1);
  EXPECT_EQ(all.back().greatest, 999);
  for (const auto& s : all) EXPECT_TRUE(s.least <= s.mean && s.mean <= s.greatest);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].least, all[i - 1].greatest);
  EXPECT_EQ(non_finite_steps(curve).size(), 100U);
  EXPECT_TRUE(stretches({}, 7).empty());
}

TEST(Chart, DrawsEachLineInItsColour) {
  const Curve a = {{0, 3}, {10, 2}}, b = {{0, 4}, {5, NAN}, {20, 1}};
  const std::vector<ChartLine> lines = {{"one", &a, 0}, {"<two>", &b, 1}};
  const auto html = chart("train/loss", lines);
  EXPECT_THAT(html, AllOf(HasSubstr("line s0"), HasSubstr("line s1"), HasSubstr("step 5: not finite"),
                          HasSubstr("\"last\":20.0"), HasSubstr("\\u003ctwo>"), Not(HasSubstr("<two>"))));
}

TEST(Chart, OfNothingIsEmpty) {
  const Curve none = {{0, NAN}};
  const std::vector<ChartLine> lines = {{"one", &none, 0}};
  EXPECT_EQ(chart("x", lines), "");
  EXPECT_EQ(chart("x", {}), "");
}

TEST(Chart, OfOneOrEqualValuesHasARange) {
  const Curve one = {{0, 7}}, same = {{0, 0}, {1, 0}};
  for (const auto* curve : {&one, &same}) {
    const std::vector<ChartLine> lines = {{"one", curve, 0}};
    EXPECT_THAT(chart("x", lines), AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  }
}

TEST(Chart, TheLastStepHasAMark) {
  const Curve curve = {{1, 2.5}, {4300, 2.0}};
  const std::vector<ChartLine> lines = {{"a", &curve, 0}};
  const auto drawn = chart("loss", lines);
  EXPECT_THAT(drawn, HasSubstr("text-anchor=\"end\">4,300</text>"));
  EXPECT_THAT(drawn, HasSubstr("text-anchor=\"middle\">3.00 k</text>"));
  EXPECT_THAT(drawn, testing::Not(HasSubstr("4.00 k"))) << "which it would cover";
}

}  // namespace
}  // namespace bora::report
