// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Families with a mixture of experts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/mixtral.h"

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
