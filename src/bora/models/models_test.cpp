// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/gemma2.h"
#include "bora/models/gpt2.h"
#include "bora/models/llama.h"

namespace bora {
namespace {

gemma2::Config small_gemma2() {
  gemma2::Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 40, c.num_layers = 3;
  c.num_heads = 6, c.num_kv_heads = 3, c.head_dim = 8, c.sliding_window = 4;
  return c;
}

// Counts that the published checkpoints have.
TEST(ParameterCount, EqualsPublishedModels) {
  EXPECT_EQ(gpt2::Config{}.parameter_count(50257), 124'439'808);
  gpt2::Config xl;
  xl.hidden_dim = 1600;
  xl.num_layers = 48;
  xl.num_heads = 25;
  EXPECT_EQ(xl.parameter_count(50257), 1'557'611'200);
  EXPECT_EQ(llama::Config{}.parameter_count(32000), 6'738'415'616);
  llama::Config llama3{
      .hidden_dim = 4096, .intermediate_dim = 14336, .num_layers = 32, .num_heads = 32, .num_kv_heads = 8};
  EXPECT_EQ(llama3.parameter_count(128256), 8'030'261'248);
  llama::Config small{
      .hidden_dim = 2048, .intermediate_dim = 8192, .num_layers = 16, .num_heads = 32, .num_kv_heads = 8};
  small.tie_word_embeddings = true;
  EXPECT_EQ(small.parameter_count(128256), 1'235'814'400);
  EXPECT_EQ(gemma2::Config{}.parameter_count(256000), 2'614'341'888);
}

TEST(ParameterCount, EqualsTheWalk) {
  gpt2::Config g{.seq_len = 16, .hidden_dim = 24, .num_layers = 2, .num_heads = 3};
  auto gpt2 = gpt2::Gpt2::init(g, Dim<gpt2::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(gpt2), g.parameter_count(50));
  llama::Config l{.seq_len = 16,
                  .hidden_dim = 24,
                  .intermediate_dim = 40,
                  .num_layers = 2,
                  .num_heads = 6,
                  .num_kv_heads = 3};
  l.attention_bias = l.use_bias = true;
  auto llama = llama::Llama::init(l, Dim<llama::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(llama), l.parameter_count(50));
  auto small = small_gemma2();
  auto gemma2 = gemma2::Gemma2::init(small, Dim<gemma2::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(gemma2), small.parameter_count(50));
}

std::string refusal(const Json& json) {
  try {
    gemma2::Config::from_hf(json, "config.json");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Gemma2Config, HuggingFaceAndBack) {
  auto config = small_gemma2();
  config.final_logit_softcapping.reset();
  config.rope.theta = 500;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["layer_types"], (Json{"sliding_attention", "full_attention", "sliding_attention"}));
  EXPECT_TRUE(json["final_logit_softcapping"].is_null());
  EXPECT_EQ(json["rope_theta"], 500);
  EXPECT_FALSE(json.contains("gradient_checkpointing") || json.contains("rope"));
  EXPECT_EQ(gemma2::Config::from_hf(json, "config.json").to_hf(50), json);
}

TEST(Gemma2Config, LayersAreLocalByTurnsOrAsListed) {
  auto json = small_gemma2().to_hf(50);
  EXPECT_FALSE(gemma2::Config::from_hf(json, "config.json").layer_types);
  json["layer_types"] = {"full_attention", "full_attention", "sliding_attention"};
  const auto config = gemma2::Config::from_hf(json, "config.json");
  EXPECT_EQ(config.window(0), 0);
  EXPECT_EQ(config.window(2), config.sliding_window);
  EXPECT_EQ(config.to_hf(50)["layer_types"], json["layer_types"]);
}

TEST(ActivationNames, OfTransformersForTheSameFunction) {
  for (const char* name : {"gelu_pytorch_tanh", "gelu_fast", "gelu_new"}) {
    auto json = gpt2::Config{}.to_hf(50);
    json["activation_function"] = name;
    EXPECT_EQ(gpt2::Config::from_hf(json, "config.json").activation_function, "gelu_new") << name;
    json = llama::Config{}.to_hf(50);
    json["hidden_act"] = name;
    EXPECT_EQ(llama::Config::from_hf(json, "config.json").activation_function, "gelu_new") << name;
  }
}

TEST(Gemma2Config, RefusesWhatItWouldComputeWrongly) {
  auto json = small_gemma2().to_hf(50);
  EXPECT_EQ(refusal(json), "");
  auto other = json;
  other["layer_types"][2] = "chunked_attention";
  EXPECT_NE(refusal(other).find("layer_types  has \"chunked_attention\", which is neither"),
            std::string::npos)
      << refusal(other);
  other = json;
  other["tie_word_embeddings"] = false;
  EXPECT_NE(refusal(other).find("tie_word_embeddings = false  must be true in models of this type"),
            std::string::npos)
      << refusal(other);
  other = json;
  other["sliding_window"] = 0;
  EXPECT_NE(refusal(other).find("sliding_window = 0  must be from 1"), std::string::npos) << refusal(other);
  ConfigTree tree;
  tree.merge_text("activation_function: silu\ntie_word_embeddings: true\n", "my.yaml");
  gemma2::Config config;
  const auto problems = read_config(tree, config);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "must be gelu_new in models of this type");
}

TEST(Gpt2Config, AnInnerSizeThatIsNoMultipleOfTheWidth) {
  gpt2::Config c{.seq_len = 16, .hidden_dim = 24, .num_layers = 2, .num_heads = 3};
  auto json = c.to_hf(50);
  EXPECT_EQ(json["n_inner"], 96);
  json["n_inner"] = 40;
  auto odd = gpt2::Config::from_hf(json, "config.json");
  EXPECT_EQ(odd.mlp_dim(), 40);
  EXPECT_EQ(odd.shape(50).mlp, 40);
  EXPECT_EQ(odd.to_hf(50)["n_inner"], 40);
  auto model = gpt2::Gpt2::init(odd, Dim<gpt2::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), odd.parameter_count(50));
  // As a configuration file: read, written, and read again.
  ConfigTree tree;
  tree.merge_text(write_config(odd), "written.yaml");
  gpt2::Config again;
  EXPECT_TRUE(read_config(tree, again).empty());
  EXPECT_EQ(again.mlp_dim(), 40);
  // A multiple is Levanter's mlp_scale.
  json["n_inner"] = 48;
  auto twice = gpt2::Config::from_hf(json, "config.json");
  EXPECT_EQ(twice.mlp_scale, 2);
  EXPECT_FALSE(twice.intermediate_dim.has_value());
  json["n_inner"] = nullptr;
  EXPECT_EQ(gpt2::Config::from_hf(json, "config.json").mlp_dim(), 96);
}

TEST(Init, DependsOnTheKeyAlone) {
  llama::Config c{.seq_len = 8,
                  .hidden_dim = 8,
                  .intermediate_dim = 16,
                  .num_layers = 2,
                  .num_heads = 2,
                  .num_kv_heads = 1};
  auto a = llama::Llama::init(c, Dim<llama::Vocab>{10}, Key::from_seed(3));
  auto b = llama::Llama::init(c, Dim<llama::Vocab>{10}, Key::from_seed(3));
  auto other = llama::Llama::init(c, Dim<llama::Vocab>{10}, Key::from_seed(4));
  EXPECT_EQ(a.embed_tokens.weight.to_vector(), b.embed_tokens.weight.to_vector());
  EXPECT_NE(a.embed_tokens.weight.to_vector(), other.embed_tokens.weight.to_vector());
}

}  // namespace
}  // namespace bora
