// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What config.json of OLMo 3 may say, and how many parameters it has.
#include "bora/models/olmo3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"

namespace bora::olmo3 {
namespace {

using testing::HasSubstr;

Config small() {
  Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 40, c.num_layers = 3;
  c.num_heads = c.num_kv_heads = 3, c.head_dim = 8;
  return c;
}

std::string refusal(const Json& json) {
  try {
    Config::from_hf(json, "config.json");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Olmo3, ParametersOfThePublishedModel) {
  EXPECT_EQ(Config{}.parameter_count(100278), 7'298'011'136);
  auto model = Olmo3::init(small(), Dim<Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), small().parameter_count(50));
}

TEST(Olmo3, ConfigFromHuggingFaceAndBack) {
  auto config = small();
  config.rope.theta = 700;
  config.rope.type = "yarn", config.rope.factor = 8;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["rope_parameters"]["full_attention"]["factor"], 8);
  EXPECT_EQ(json["rope_parameters"]["sliding_attention"],
            (Json{{"rope_type", "default"}, {"rope_theta", 700}}));
  EXPECT_EQ(Config::from_hf(json, "config.json").to_hf(50), json);
  auto older = json, newer = json;
  older.erase("rope_parameters");
  older["layer_types"] = nullptr;
  for (const auto* key : {"rope_theta", "rope_scaling", "head_dim"}) newer.erase(key);
  EXPECT_EQ(Config::from_hf(older, "config.json").to_hf(50), json);
  EXPECT_EQ(Config::from_hf(newer, "config.json").to_hf(50), json);
}

TEST(Olmo3, RefusesWhatItWouldComputeWrongly) {
  const auto json = small().to_hf(50);
  EXPECT_EQ(refusal(json), "");
  auto other = json;
  other["rope_parameters"]["sliding_attention"]["rope_theta"] = 10;
  EXPECT_EQ(
      refusal(other),
      "config.json: rope_parameters.sliding_attention.rope_theta is 10.0; in models of this type it must be "
      "500000.0");
  other = json;  // the same scaling for both is none of the layers with a window alone
  for (auto& rope : other["rope_parameters"])
    rope = {{"rope_type", "linear"}, {"factor", 2}, {"rope_theta", 500000}};
  other["rope_scaling"] = nullptr;
  EXPECT_EQ(
      refusal(other),
      "config.json: rope_parameters.sliding_attention.rope_type is \"linear\"; in models of this type it must be "
      "\"default\"");
  other = json;
  other["layer_types"][0] = "chunked_attention";
  EXPECT_THAT(refusal(other), HasSubstr("layer_types"));
}

TEST(Olmo3, MayHaveBiasesOfAttention) {
  auto config = small();
  config.attention_bias = true;
  auto model = Olmo3::init(config, Dim<Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), config.parameter_count(50));
  EXPECT_GT(config.parameter_count(50), small().parameter_count(50));
  EXPECT_TRUE(Config::from_hf(config.to_hf(50), "config.json").attention_bias);
}

}  // namespace
}  // namespace bora::olmo3
