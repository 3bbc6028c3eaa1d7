// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What config.json of Gemma 1 and 3 may say, and how many parameters they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/gemma.h"
#include "bora/models/gemma2.h"
#include "bora/models/gemma3.h"

namespace bora {
namespace {

using testing::HasSubstr;

template <class Config>
Config small() {
  Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 40, c.num_layers = 3;
  c.num_heads = 6, c.num_kv_heads = 3, c.head_dim = 8;
  return c;
}

template <class Config>
std::string refusal(const Json& json) {
  try {
    Config::from_hf(json, "config.json");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Gemma, ParametersOfThePublishedModels) {
  gemma::Config config;
  EXPECT_EQ(config.parameter_count(256000), 2'506'172'416);
  config.hidden_dim = 3072, config.intermediate_dim = 24576, config.num_layers = 28;
  config.num_heads = config.num_kv_heads = 16;
  EXPECT_EQ(config.parameter_count(256000), 8'537'680'896);
  const auto c = small<gemma::Config>();
  auto model = gemma::Gemma::init(c, Dim<gemma::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), c.parameter_count(50));
}

TEST(Gemma, ConfigFromHuggingFaceAndBack) {
  const auto json = small<gemma::Config>().to_hf(50);
  EXPECT_EQ(gemma::Config::from_hf(json, "config.json").to_hf(50), json);
  for (const Json& activation : {Json("gelu"), Json("gelu_pytorch_tanh"), Json()}) {
    auto first = json;  // the first published files
    first["hidden_act"] = activation;
    first["hidden_activation"] = nullptr;
    EXPECT_EQ(gemma::Config::from_hf(first, "config.json").to_hf(50), json);
  }
}

TEST(Gemma, RefusesWhatItWouldComputeWrongly) {
  const auto json = small<gemma::Config>().to_hf(50);
  EXPECT_EQ(refusal<gemma::Config>(json), "");
  for (const auto* key : {"hidden_act", "hidden_activation"}) {
    auto other = json;
    other[key] = "silu";
    EXPECT_THAT(refusal<gemma::Config>(other), HasSubstr(key));
  }
}

template <class Model>
void expect_biases(std::string_view what) {
  auto c = small<typename Model::Config>();
  const auto without = c.parameter_count(50);
  c.attention_bias = true;
  EXPECT_EQ(c.parameter_count(50), without + 3 * (48 + 2 * 24 + 24)) << what;
  auto model = Model::init(c, Dim<nn::VocabAxis<Model>>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), c.parameter_count(50)) << what;
  EXPECT_TRUE(Model::Config::from_hf(c.to_hf(50), "config.json").attention_bias) << what;
}

TEST(Gemmas, MayHaveBiasesOfAttention) {
  expect_biases<gemma::Gemma>("gemma");
  expect_biases<gemma2::Gemma2>("gemma2");
  expect_biases<gemma3::Gemma3>("gemma3");
}

TEST(Gemma3, ParametersOfThePublishedModels) {
  gemma3::Config config;
  EXPECT_EQ(config.parameter_count(262144), 999'885'952);
  config.hidden_dim = 2560, config.intermediate_dim = 10240, config.num_layers = 34;
  config.num_heads = 8, config.num_kv_heads = 4;
  EXPECT_EQ(config.parameter_count(262208), 3'880'263'168);
  const auto c = small<gemma3::Config>();
  auto model = gemma3::Gemma3::init(c, Dim<gemma3::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), c.parameter_count(50));
}

TEST(Gemma3, EverySixthLayerIsGlobalUnlessTheyAreListed) {
  gemma3::Config config;
  for (std::int64_t i = 0; i < 26; ++i) EXPECT_EQ(config.layer_types.slides(i), i % 6 != 5) << i;
  ConfigTree tree;
  tree.merge_text("num_layers: 2\nlayer_types: [full_attention, sliding_attention]\n", "my.yaml");
  EXPECT_TRUE(read_config(tree, config).empty());
  EXPECT_FALSE(config.layer_types.slides(0));
  EXPECT_TRUE(config.layer_types.slides(1));
  const auto problem = [](const char* text) {
    ConfigTree given;
    given.merge_text(text, "my.yaml");
    gemma3::Config read;
    const auto problems = read_config(given, read);
    return problems.empty() ? "" : problems[0].key + ": " + problems[0].message;
  };
  EXPECT_EQ(problem("num_layers: 3\nlayer_types: [full_attention]\n"),
            "layer_types: has 1 entries, but num_layers = 3");
  EXPECT_EQ(problem("num_layers: 1\nlayer_types: [linear]\n"),
            "layer_types: has \"linear\", which is neither sliding_attention nor full_attention");
}

TEST(Gemma3, ConfigFromHuggingFaceAndBack) {
  auto config = small<gemma3::Config>();
  config.rope.type = "linear", config.rope.factor = 8;
  config.rope_local_base_freq = 500;
  config.final_logit_softcapping = 30;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["model_type"], "gemma3_text");
  EXPECT_EQ(json["layer_types"], (Json{"sliding_attention", "sliding_attention", "sliding_attention"}));
  EXPECT_EQ(json["rope_theta"], 1e6);
  EXPECT_EQ(json["rope_local_base_freq"], 500);
  EXPECT_EQ(json["rope_parameters"]["full_attention"]["factor"], 8);
  EXPECT_EQ(json["rope_parameters"]["sliding_attention"],
            (Json{{"rope_type", "default"}, {"rope_theta", 500}}));
  EXPECT_EQ(gemma3::Config::from_hf(json, "config.json").to_hf(50), json);
  auto newer = json;
  for (const auto* key : {"rope_theta", "rope_scaling", "rope_local_base_freq"}) newer.erase(key);
  newer["rope_parameters"] = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 1e6}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 500}}}};
  EXPECT_EQ(gemma3::Config::from_hf(newer, "config.json").to_hf(50), json);
  newer["rope_parameters"] = nullptr;  // nothing said of bases
  EXPECT_EQ(gemma3::Config::from_hf(newer, "config.json").rope.theta, 1e6);
  auto older = json;
  older["layer_types"] = nullptr;
  older["sliding_window_pattern"] = 2;
  EXPECT_EQ(gemma3::Config::from_hf(older, "config.json").to_hf(50)["layer_types"],
            (Json{"sliding_attention", "full_attention", "sliding_attention"}));
}

TEST(Gemma3, RefusesWhatItWouldComputeWrongly) {
  const auto json = small<gemma3::Config>().to_hf(50);
  EXPECT_EQ(refusal<gemma3::Config>(json), "");
  auto other = json;
  other["rope_parameters"] = {{"full_attention", {{"rope_theta", 1e6}}},
                              {"sliding_attention", {{"rope_type", "linear"}, {"factor", 2}}}};
  EXPECT_EQ(refusal<gemma3::Config>(other),
            "config.json: rope_type of sliding_attention is \"linear\"; in models of this type it must be "
            "\"default\"");
  other["rope_parameters"].erase("sliding_attention");
  EXPECT_EQ(refusal<gemma3::Config>(other),
            "config.json: rope_parameters.sliding_attention should be an object");
  other = json;
  other["attn_logit_softcapping"] = 50;  // transformers does not apply it here
  EXPECT_THAT(refusal<gemma3::Config>(other), HasSubstr("attn_logit_softcapping is 50"));
  other = json;
  other["use_bidirectional_attention"] = true;
  EXPECT_THAT(refusal<gemma3::Config>(other), HasSubstr("use_bidirectional_attention is true"));
  // The model that sees, too: its text part has a config.json of its own.
  EXPECT_THAT(refusal<gemma3::Config>({{"model_type", "gemma3"}, {"text_config", json}}),
              HasSubstr("model_type is \"gemma3\"; in models of this type it must be \"gemma3_text\""));
  // A family whose layers are all alike does not take the bases of one kind of them for all.
  other = small<gemma::Config>().to_hf(50);
  other["rope_parameters"] = {{"full_attention", {{"rope_theta", 1e6}}}};
  EXPECT_EQ(refusal<gemma::Config>(other),
            "config.json: rope_parameters by layer type; layers of this model all have the same");
}

}  // namespace
}  // namespace bora
