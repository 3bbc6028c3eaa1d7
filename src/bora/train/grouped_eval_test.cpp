// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/grouped_eval.h"

#include <gtest/gtest.h>

#include <map>
#include <numbers>

namespace bora::train {
namespace {

EvalResult result(double loss, double tokens, double bytes) {
  return {.loss_sum = loss * tokens, .tokens = tokens, .bytes = bytes, .sequences = 1};
}

std::map<std::string, double> metrics(const GroupedEval& eval) {
  std::map<std::string, double> out;
  for (const auto& m : eval.metrics()) out[std::string(m.name)] = m.value;
  return out;
}

TEST(GroupedEval, NothingWithoutSets) { EXPECT_TRUE(GroupedEval().metrics().empty()); }

TEST(GroupedEval, MicroByTokensMacroBySets) {
  GroupedEval eval;
  eval.add("code/python", {}, result(1, 300, 600));
  eval.add("code/rust", {"new/2026"}, result(3, 100, 200));
  eval.add("prose", {"new", "prose"}, result(5, 100, 400));
  eval.add("code/none", {}, result(0, 0, 0));
  auto m = metrics(eval);
  EXPECT_DOUBLE_EQ(m.at("eval/prose/loss"), 5);
  EXPECT_DOUBLE_EQ(m.at("eval/loss"), 1100.0 / 500);
  EXPECT_DOUBLE_EQ(m.at("eval/macro_loss"), 3);
  EXPECT_DOUBLE_EQ(m.at("eval/code/micro_loss"), 600.0 / 400);
  EXPECT_DOUBLE_EQ(m.at("eval/code/macro_loss"), 2);
  EXPECT_DOUBLE_EQ(m.at("eval/code/bpb"), 600 / std::numbers::ln2 / 800);
  EXPECT_DOUBLE_EQ(m.at("eval/new/micro_loss"), 4);
  EXPECT_DOUBLE_EQ(m.at("eval/new/2026/macro_loss"), 3);
  EXPECT_EQ(m.count("eval/prose/micro_loss"), 0U) << "a group of one set that has its name";
  EXPECT_NEAR(m.at("eval/macro_bpb"), (0.5 + 1.5 + 1.25) / 3 / std::numbers::ln2, 1e-12);
}

// Not as perfect, nor as of no bits.
TEST(GroupedEval, WhatIsNotKnownIsLeftOut) {
  GroupedEval eval;
  eval.add("a", {"t"}, result(2, 100, 200));
  eval.add("ids", {"t"}, result(4, 100, 0));
  eval.add("none", {"t", "n"}, result(0, 0, 0));
  const auto m = metrics(eval);
  EXPECT_DOUBLE_EQ(m.at("eval/loss"), 3);
  EXPECT_DOUBLE_EQ(m.at("eval/bpb"), 1 / std::numbers::ln2);
  EXPECT_DOUBLE_EQ(m.at("eval/macro_bpb"), 1 / std::numbers::ln2);
  EXPECT_DOUBLE_EQ(m.at("eval/t/macro_bpb"), 1 / std::numbers::ln2);
  EXPECT_EQ(m.count("eval/ids/bpb") + m.count("eval/none/loss") + m.count("eval/n/micro_loss"), 0U);
  GroupedEval nothing;
  nothing.add("none", {}, result(0, 0, 0));
  EXPECT_TRUE(nothing.metrics().empty());
}

TEST(GroupedEval, AModelsOwnMetricsFollow) {
  GroupedEval eval;
  EvalResult a = result(1, 1, 1), b = a;
  a.metrics = {{"router/load", 6, 2}, {"never", 0, 0}};
  b.metrics = {{"router/load", 1, 2}};
  eval.add("prose", {}, a);
  eval.add("code/python", {}, b);
  std::map<std::string, double> m;
  for (const auto& [name, value] : eval.metrics()) m[name] = value;
  EXPECT_EQ(m.at("eval/prose/router/load"), 3);
  EXPECT_EQ(m.at("eval/code/router/load"), 0.5);
  EXPECT_EQ(m.at("eval/router/load"), 7.0 / 4);
  EXPECT_EQ(m.count("eval/never"), 0U);
}

}  // namespace
}  // namespace bora::train
