// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/report/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bora/base/error.h"
#include "bora/base/file.h"

namespace bora::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string written(const std::string& name, const std::string& text) {
  const auto path = path_join(testing::TempDir(), "bora_curves_" + name);
  write_atomically(path, text);
  return path;
}

TEST(Curves, AreReadByName) {
  const auto file = written("two",
                            "{\"step\":0,\"train/loss\":3.5,\"optim/x\":1}\n"
                            "{\"step\":1,\"time\":12.5,\"train/loss\":3.25}\n");
  const auto curves = read_curves(file);
  EXPECT_EQ(curves.size(), 2U);
  EXPECT_THAT(curves.at("train/loss"), ElementsAre(Point{0, 3.5}, Point{1, 3.25}));
  EXPECT_THAT(curves.at("optim/x"), ElementsAre(Point{0, 1}));
}

TEST(Curves, HoldNumbersThatAreNone) {
  const auto curves =
      read_curves(written("nan", "{\"step\":3,\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\"}\n"));
  EXPECT_TRUE(std::isnan(curves.at("a")[0].value));
  EXPECT_EQ(curves.at("b")[0].value, INFINITY);
  EXPECT_EQ(curves.at("c")[0].value, -INFINITY);
}

TEST(Curves, LeaveOutHistogramsAndALineThatIsBeingWritten) {
  const auto curves =
      read_curves(written("torn", "{\"step\":0,\"h\":{\"min\":1},\"a\":2}\n{\"step\":1,\"a\":"));
  EXPECT_EQ(curves.size(), 1U);
  EXPECT_THAT(curves.at("a"), ElementsAre(Point{0, 2}));
}

TEST(Curves, OfNoFileAreNone) {
  EXPECT_TRUE(read_curves("/nowhere/metrics.jsonl").empty());
  EXPECT_TRUE(read_curves(written("empty", "")).empty());
  EXPECT_TRUE(read_last_curves(written("empty", "")).empty());
}

// One step beside a busy neighbour, or one that is not known, says nothing of the run.
TEST(Curves, HaveAUsualValue) {
  Curves curves;
  EXPECT_FALSE(usual(curves, "a"));
  for (int i = 0; i < 50; ++i) curves["a"].push_back({i, 900});
  for (int i = 50; i < 150; ++i) curves["a"].push_back({i, 20});
  curves["a"].push_back({150, 3});
  curves["a"].push_back({151, NAN});
  EXPECT_EQ(usual(curves, "a"), 20);
  curves["b"] = {{0, NAN}};
  EXPECT_FALSE(usual(curves, "b"));
}

TEST(Curves, OfADamagedFileNameTheLine) {
  const auto file = written("damaged", "{\"step\":0,\"a\":1}\n\x01\x02\n");
  try {
    read_curves(file);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Corruption);
    EXPECT_THAT(e.what(), HasSubstr(file + ": line 2"));
  }
  EXPECT_THROW(read_curves(written("word", "{\"step\":0,\"a\":\"much\"}\n")), Error);
  EXPECT_THROW(read_curves(written("no_step", "{\"a\":1}\n")), Error);
}

TEST(Curves, OfTheEndAreThoseOfWholeLines) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "{\"step\":" + std::to_string(i) + ",\"train/loss\":1.5}\n";
  const auto curves = read_last_curves(written("long", text));
  EXPECT_LT(curves.at("train/loss").size(), 10000U);
  EXPECT_EQ(curves.at("train/loss").back().step, 9999);
}

}  // namespace
}  // namespace bora::report
