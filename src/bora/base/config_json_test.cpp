// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/base/config_json.h"

#include <gtest/gtest.h>

namespace bora {
namespace {

struct Rope {
  double theta = 10000;
  void bind(Binder& b) { b.field("theta", theta, kPositive); }
};

struct Model {
  std::int64_t num_heads = 4, window = 8;
  std::optional<double> cap = 50;
  std::string activation = "silu";
  bool tied = false;
  std::vector<std::int64_t> layers = {1, 2};
  Rope rope;
  void bind(Binder& b) {
    b.field("num_heads", num_heads, kSize);
    b.field("window", window, kSize);
    b.field("cap", cap, kPositive);
    b.field("activation", activation);
    b.field("tied", tied);
    b.field("layers", layers, kSize);
    b.field("rope", rope);
    if (b.reading() && num_heads % 2 != 0) b.problem("num_heads", "must be even");
  }
};

const KeyNames kNames = {{"num_heads", "n_head"}, {"activation", "act"}};

std::vector<std::string> told(const Json& object, Model& model) {
  std::vector<std::string> out;
  for (const auto& p : read_json(object, model, kNames)) out.push_back(p.key + ": " + p.message);
  return out;
}

TEST(ConfigJson, ReadsWhatItKnowsUnderItsNames) {
  Model model;
  const auto object = Json::parse(R"({"n_head": 6, "cap": null, "act": "gelu", "tied": true, "layers": [3],
                                      "num_heads": 1, "other": 5})");
  EXPECT_TRUE(told(object, model).empty());
  EXPECT_EQ(model.num_heads, 6);
  EXPECT_EQ(model.window, 8);
  EXPECT_FALSE(model.cap.has_value());
  EXPECT_EQ(model.activation, "gelu");
  EXPECT_TRUE(model.tied);
  EXPECT_EQ(model.layers, std::vector<std::int64_t>{3});
}

TEST(ConfigJson, TextIsNoNumber) {
  Model model;
  const auto object = Json::parse(R"({"n_head": "4", "window": "x", "tied": "true", "act": "4"})");
  EXPECT_EQ(told(object, model), (std::vector<std::string>{"window: should be an integer but is \"x\"",
                                                           "n_head: should be a number but is \"4\"",
                                                           "tied: should be true or false but is \"true\""}));
  EXPECT_EQ(model.activation, "4");
}

TEST(ConfigJson, TellsAllProblemsInItsOwnWords) {
  Model model;
  const auto object = Json::parse(R"({"n_head": 3, "window": "x", "cap": -1})");
  EXPECT_EQ(told(object, model),
            (std::vector<std::string>{"window: should be an integer but is \"x\"",
                                      "cap = -1: must be above 0", "n_head = 3: must be even"}));
}

TEST(ConfigJson, WritesWhatItReads) {
  Model model, again;
  model.num_heads = 2;
  model.cap.reset();
  model.tied = true;
  const auto json = write_json(model, kNames);
  EXPECT_EQ(json.dump(), R"({"n_head":2,"window":8,"cap":null,"act":"silu","tied":true,"layers":[1,2],)"
                         R"("rope":{"theta":10000}})");
  EXPECT_TRUE(told(json, again).empty());
  EXPECT_EQ(write_json(again, kNames), json);
}

}  // namespace
}  // namespace bora
