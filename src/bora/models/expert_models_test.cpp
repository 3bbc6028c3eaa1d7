// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Families with a mixture of experts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/gpt_oss.h"
#include "bora/models/mixtral.h"
#include "bora/models/olmoe.h"
#include "bora/models/qwen2_moe.h"
#include "bora/models/qwen3_moe.h"

namespace bora {
namespace {

mixtral::Config small_mixtral() {
  mixtral::Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 20, c.num_layers = 2;
  c.num_heads = 6, c.num_kv_heads = 3, c.head_dim = 4, c.n_routed_experts = 4;
  return c;
}

TEST(Mixtral, ParametersAreCounted) {
  EXPECT_EQ(mixtral::Config{}.parameter_count(32000), 46'702'792'704);
  const auto config = small_mixtral();
  auto model = mixtral::Mixtral::init(config, Dim<mixtral::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), config.parameter_count(50));
  EXPECT_EQ(model.shape().mlp, 40) << "what a token passes";
}

qwen3_moe::Config small_qwen3_moe() {
  qwen3_moe::Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 40, c.num_layers = 4, c.num_heads = 6;
  c.num_kv_heads = 3, c.head_dim = 6, c.n_routed_experts = 4, c.num_experts_per_tok = 2;
  c.moe_intermediate_size = 12, c.mlp_only_layers = {1}, c.decoder_sparse_step = 2;
  return c;
}

TEST(Qwen3Moe, LayersWithAndWithoutExperts) {
  EXPECT_EQ(qwen3_moe::Config{}.parameter_count(151936), 30'532'122'624);
  auto config = small_qwen3_moe();
  EXPECT_EQ(config.sparse_layers(), 1);
  auto model = qwen3_moe::Qwen3Moe::init(config, Dim<qwen3_moe::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), config.parameter_count(50));
  std::vector<bool> sparse;
  for (const auto& block : model.layers.blocks) sparse.push_back(block.mlp.index() == 0);
  EXPECT_EQ(sparse, (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(model.shape().mlp, (24 + 3 * 40) / 4);
  config.attention_bias = true;
  model = qwen3_moe::Qwen3Moe::init(config, Dim<qwen3_moe::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), config.parameter_count(50));
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["num_experts"], 4);
  EXPECT_EQ(json["num_local_experts"], 4) << "the newer spelling";
  EXPECT_EQ(qwen3_moe::Config::from_hf(json, "config.json").to_hf(50), json);
  ConfigTree tree;
  tree.merge_text("num_layers: 2\nmlp_only_layers: [0, 1]\n", "my.yaml");
  const auto problems = read_config(tree, config);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "no layer has experts\nhint: type qwen3");
}

TEST(Qwen2Moe, ParametersAreCounted) {
  EXPECT_EQ(qwen2_moe::Config{}.parameter_count(151936), 14'315'784'192);
  qwen2_moe::Config config;
  config.hidden_dim = 24, config.intermediate_dim = 40, config.num_layers = 3, config.num_heads = 6;
  config.num_kv_heads = 3, config.head_dim = 4, config.moe_intermediate_size = 12;
  config.shared_expert_intermediate_size = 20, config.mlp_only_layers = {0};
  for (const bool bias : {true, false}) {
    config.qkv_bias = bias;
    auto model = qwen2_moe::Qwen2Moe::init(config, Dim<qwen2_moe::Vocab>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), config.parameter_count(50));
    const auto json = config.to_hf(50);
    EXPECT_EQ(qwen2_moe::Config::from_hf(json, "config.json").to_hf(50), json);
  }
}

TEST(Olmoe, ParametersAreCounted) {
  EXPECT_EQ(olmoe::Config{}.parameter_count(50304), 6'919'161'856);
  olmoe::Config config;
  config.hidden_dim = 24, config.intermediate_dim = 20, config.num_layers = 2, config.num_heads = 6;
  config.num_kv_heads = 3, config.head_dim = 4, config.n_routed_experts = 5, config.num_experts_per_tok = 3;
  auto model = olmoe::Olmoe::init(config, Dim<olmoe::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), config.parameter_count(50));
  config.attention_bias = true;
  model = olmoe::Olmoe::init(config, Dim<olmoe::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), config.parameter_count(50));
  const auto json = config.to_hf(50);
  EXPECT_TRUE(json["clip_qkv"].is_null());
  EXPECT_EQ(olmoe::Config::from_hf(json, "config.json").to_hf(50), json);
}

gpt_oss::Config small_gpt_oss() {
  gpt_oss::Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 20, c.num_layers = 3, c.num_heads = 6;
  c.num_kv_heads = 3, c.head_dim = 8, c.n_routed_experts = 5, c.num_experts_per_tok = 3;
  return c;
}

TEST(GptOss, ParametersAreCounted) {
  EXPECT_EQ(gpt_oss::Config{}.parameter_count(201088), 116'829'156'672);
  gpt_oss::Config smaller;
  smaller.num_layers = 24, smaller.n_routed_experts = 32;
  EXPECT_EQ(smaller.parameter_count(201088), 20'914'757'184);
  auto config = small_gpt_oss();
  for (const bool tied : {false, true}) {
    config.tie_word_embeddings = tied;
    auto model = gpt_oss::GptOss::init(config, Dim<gpt_oss::Vocab>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), config.parameter_count(50));
    EXPECT_EQ(model.shape().mlp, 60) << "what a token passes";
  }
}

TEST(GptOss, HuggingFaceAndBack) {
  auto config = small_gpt_oss();
  config.layer_types.types = {{"full_attention", "sliding_attention", "full_attention"}};
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["num_local_experts"], 5);
  EXPECT_EQ(json["swiglu_limit"], 7.0);
  EXPECT_EQ(json["rope_scaling"]["truncate"], false);
  EXPECT_EQ(json["layer_types"][1], "sliding_attention");
  EXPECT_EQ(gpt_oss::Config::from_hf(json, "config.json").to_hf(50), json);
  auto other = json;
  other["swiglu_limit"] = 6.0;
  try {
    gpt_oss::Config::from_hf(other, "config.json");
    FAIL() << "computed with another limit";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "config.json: swiglu_limit is 6.0; in models of this type it must be 7.0");
  }
}

// A config.json that says nothing of them has the layers and the rope of transformers.
TEST(GptOss, WhatAConfigLeavesOut) {
  auto json = small_gpt_oss().to_hf(50);
  for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters", "layer_types"}) json.erase(key);
  const auto config = gpt_oss::Config::from_hf(json, "config.json");
  EXPECT_EQ(config.rope.type, "yarn");
  EXPECT_EQ(config.rope.theta, 150000);
  EXPECT_EQ(config.rope.factor, 32);
  EXPECT_EQ(config.rope.original_max_position_embeddings, 4096);
  EXPECT_FALSE(config.rope.truncate);
  EXPECT_EQ(config.layer_types.names(3),
            (std::vector<std::string>{"sliding_attention", "full_attention", "sliding_attention"}));
  json["rope_scaling"] = Json::object();
  EXPECT_EQ(gpt_oss::Config::from_hf(json, "config.json").rope.type, "yarn");
  json["rope_scaling"] = nullptr;
  try {
    gpt_oss::Config::from_hf(json, "config.json");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "config.json: rope_scaling is null: plain RoPE to transformers 4, yarn to 5\nhint: remove "
                 "rope_scaling for yarn, or add \"rope_parameters\": {\"rope_type\": \"default\"} for plain");
  }
  json["rope_parameters"] = {{"rope_type", "default"}};
  const auto plain = gpt_oss::Config::from_hf(json, "config.json");
  EXPECT_EQ(plain.rope.type, "default");
  EXPECT_EQ(plain.rope.theta, 150000);
}

TEST(GptOss, KeysOfItsOwn) {
  ConfigTree standard;
  gpt_oss::Config whole;
  EXPECT_TRUE(read_config(standard, whole).empty());
  EXPECT_EQ(whole.head_dim, 64) << "not hidden_dim / num_heads";
  ConfigTree tree;
  tree.merge_text("use_bias: false\nrope: {truncate: true}\nnum_layers: 2\n", "my.yaml");
  gpt_oss::Config config;
  const auto problems = read_config(tree, config);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "must be true in models of this type");
  EXPECT_TRUE(config.rope.truncate);
}

TEST(Mixtral, HuggingFaceAndBack) {
  auto config = small_mixtral();
  config.sliding_window.reset();
  config.output_router_logits = true;
  config.router_aux_loss_coef = 0.25;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["num_local_experts"], 4);
  EXPECT_EQ(json["output_router_logits"], true);
  EXPECT_TRUE(json["sliding_window"].is_null());
  EXPECT_FALSE(json.contains("lbl_coef") || json.contains("rzl_coef") || json.contains("n_routed_experts"));
  const auto back = mixtral::Config::from_hf(json, "config.json");
  EXPECT_EQ(back.to_hf(50), json);
  EXPECT_FALSE(back.lbl_coef || back.rzl_coef);
  EXPECT_EQ(back.router_losses().auxiliary, 0.25);
  auto silent = json;  // transformers' own default
  silent.erase("rope_theta"), silent.erase("rope_parameters"), silent.erase("rope_scaling");
  EXPECT_EQ(mixtral::Config::from_hf(silent, "config.json").rope.theta, 1e6);
  silent["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  EXPECT_EQ(mixtral::Config::from_hf(silent, "config.json").rope.theta, 5e5);
  auto jitter = json;
  jitter["router_jitter_noise"] = 0.1;
  try {
    mixtral::Config::from_hf(jitter, "config.json");
    FAIL() << "computed without the noise";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "config.json: router_jitter_noise is 0.1; in models of this type it must be 0.0");
  }
}

TEST(Mixtral, TooManyChoicesAreRefused) {
  ConfigTree tree;
  tree.merge_text("n_routed_experts: 4\nnum_experts_per_tok: 5\n", "my.yaml");
  mixtral::Config config;
  const auto problems = read_config(tree, config);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].message, "must be at most n_routed_experts = 4");
}

TEST(Mixtral, LossesOfItsRouters) {
  auto config = small_mixtral();
  const auto objective = [&] {
    const auto model = mixtral::Mixtral::init(config, Dim<mixtral::Vocab>{50}, Key::from_seed(1));
    const std::array<std::int64_t, 2> sizes{1, 8};
    const core::Shape shape{Axes<mixtral::Batch, mixtral::Pos>::names, sizes};
    const core::Array ids = core::full(shape, 3, core::DType::i32);
    return model.objective({.ids = ids, .targets = ids, .weights = core::ones(shape)}, {}, {});
  };
  config.lbl_coef.reset(), config.rzl_coef.reset();
  const auto plain = objective();
  ASSERT_EQ(plain.metrics.size(), 4U);
  config.rzl_coef = 0.5;
  EXPECT_NEAR(objective().loss.item() - plain.loss.item(), 0.5 * 2 * plain.metrics[1].sum.item(), 1e-4);
  config.rzl_coef.reset(), config.output_router_logits = true, config.router_aux_loss_coef = 2;
  EXPECT_NEAR(objective().loss.item() - plain.loss.item(), 2 * plain.metrics[0].sum.item(), 1e-4);
  // all tokens are alike: two experts have them all
  EXPECT_EQ(plain.metrics[2].sum.item() / 8, 2);
  EXPECT_EQ(plain.metrics[3].sum.item(), 0);
}

}  // namespace
}  // namespace bora
