// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bora {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> changes(const std::string& before, const std::string& after) {
  ConfigTree a, b;
  a.merge_text(before, "a.yaml");
  b.merge_text(after, "b.yaml");
  std::vector<std::string> out;
  for (const auto& change : config_changes(a, b)) out.push_back(shown(change));
  return out;
}

TEST(ConfigChanges, EqualOnesHaveNone) {
  EXPECT_THAT(changes("a: 1\nb: {c: [1, 2], d: null}\n", "b: {d: null, c: [1, 2]}\na: 1\n"), IsEmpty());
  EXPECT_THAT(changes("", ""), IsEmpty());
  EXPECT_THAT(changes("a: null", "b: 1\na: ~"), ElementsAre("b: none -> 1"));
  EXPECT_THAT(changes("a: null", ""), IsEmpty()) << "a key without a value is as good as none";
}

TEST(ConfigChanges, ValuesByKeyAndListsWhole) {
  EXPECT_THAT(changes("trainer: {seed: 0, keep: [{every: 1}]}\ndata: {configs: {one: {urls: [a]}, two: {}}}",
                      "trainer: {seed: 1, keep: [{every: 2}]}\ndata: {configs: {one: {urls: [a, b]}}}"),
              ElementsAre("trainer.seed: 0 -> 1", "trainer.keep: [{every: 1}] -> [{every: 2}]",
                          "data.configs.one.urls: [a] -> [a, b]", "data.configs.two: {} -> none"));
}

struct Rates {
  double learning = 0.5, decay = 0;
  void bind(Binder& b) {
    b.field("learning", learning, kPositive);
    b.field("decay", decay, kNonNegative);
  }
};

TEST(ConfigChanges, ObjectsAreComparedAsTheyAreWritten) {
  Rates before, after;
  EXPECT_THAT(config_changes(before, after), IsEmpty());
  after.decay = 0.1;
  const auto changes = config_changes(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(shown(changes[0]), "decay: 0 -> 0.1");
}

TEST(ConfigChanges, WhatFillsAnEmptyMapIsTheDifference) {
  EXPECT_THAT(changes("a: {}\nb: []", "a: {c: 1}\nb: {d: 2}"),
              ElementsAre("a.c: none -> 1", "b.d: none -> 2"));
  EXPECT_THAT(changes("a: {c: 1}", "a: {}"), ElementsAre("a.c: 1 -> none"));
  EXPECT_THAT(changes("a: 3", "a: {c: 1}"), ElementsAre("a.c: none -> 1", "a: 3 -> none"));
}

TEST(ConfigChanges, AStringIsNoNumber) {
  EXPECT_THAT(changes("a: \"1\"", "a: 1"), ElementsAre("a: \"1\" -> 1"));
}

}  // namespace
}  // namespace bora
