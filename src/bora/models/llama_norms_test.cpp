// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Levanter's further norms of a Llama.
#include <gtest/gtest.h>

#include "bora/models/llama.h"

namespace bora::llama {
namespace {

Config small() {
  Config c;
  c.seq_len = 16, c.hidden_dim = 16, c.intermediate_dim = 24, c.num_layers = 2, c.num_heads = 4,
  c.num_kv_heads = 2;
  return c;
}

Llama model_of(const Config& c) { return Llama::init(c, Dim<Vocab>{20}, Key::from_seed(5)); }

std::vector<float> hidden(const Llama& model) {
  const std::vector<std::int32_t> ids = {3, 1, 4, 1, 5, 9};
  constexpr std::array<std::int64_t, 2> kSizes{2, 3};
  const auto named = indices_from_array<Batch, Pos>(
      core::from_data({Axes<Batch, Pos>::names, kSizes}, std::span<const std::int32_t>(ids)));
  return model(named, {}).array().to_vector<float>();
}

template <class Norm>
void fill(Norm& norm, float value) {
  const auto n = static_cast<std::size_t>(norm.weight.template size<Embed>());
  norm.weight = from_vector<Embed>(std::vector<float>(n, value), Dim<Embed>{static_cast<std::int64_t>(n)});
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, float limit) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], limit) << i;
}

// Norms of zero after attention and MLP leave nothing of the layers.
TEST(LlamaNorms, HybridNormsAreOfWhatLayersGive) {
  auto config = small();
  config.hybrid_norm = true;
  config.initializer_range = 1;
  auto model = model_of(config);
  for (auto& block : model.layers.blocks) fill(*block.post_attn_norm, 0), fill(*block.post_mlp_norm, 0);
  auto none = model;
  none.layers.blocks.clear();
  expect_near(hidden(model), hidden(none), 0);
  for (auto& block : model.layers.blocks) fill(*block.post_mlp_norm, 1);
  EXPECT_NE(hidden(model), hidden(none));
  // What a layer gives is of size 1 now, however large its weights are.
  auto larger = model;
  for (auto& block : larger.layers.blocks) block.mlp.down_proj.weight = block.mlp.down_proj.weight * 16.0;
  expect_near(hidden(larger), hidden(model), 1e-3F);
}

TEST(LlamaNorms, OfEmbeddingsTakesTheirSize) {
  auto config = small();
  config.input_embedding_norm = true;
  config.initializer_range = 1;
  const auto model = model_of(config);
  auto larger = model;
  larger.embed_tokens.weight = larger.embed_tokens.weight * 8.0;
  expect_near(hidden(larger), hidden(model), 1e-3F);
  config.input_embedding_norm = false;
  EXPECT_NE(hidden(model_of(config)), hidden(model));
}

// New weights are one.
TEST(LlamaNorms, WithoutWeightsAreWithOnes) {
  auto config = small();
  config.hybrid_norm = config.input_embedding_norm = true;
  const auto with = model_of(config);
  config.use_layer_norm_weight = false;
  auto without = model_of(config);
  EXPECT_EQ(hidden(without), hidden(with));
  for (auto& p : parameters(without)) EXPECT_EQ(p.path.find("norm"), p.path.npos) << p.path;
  EXPECT_EQ(parameter_count(without), config.parameter_count(20));
  const auto json = config.to_hf(20);
  EXPECT_EQ(Config::from_hf(json, "config.json").to_hf(20), json);
  EXPECT_FALSE(json["use_layer_norm_weight"]);
}

TEST(LlamaNorms, AreCountedAndDescribed) {
  for (const bool both : {false, true}) {
    auto config = small();
    config.hybrid_norm = true, config.input_embedding_norm = both;
    auto model = model_of(config);
    EXPECT_EQ(parameter_count(model), config.parameter_count(20));
    const auto json = config.to_hf(20);
    EXPECT_EQ(Config::from_hf(json, "config.json").to_hf(20), json);
    EXPECT_TRUE(json["hybrid_norm"]);
    EXPECT_EQ(json.contains("input_embedding_norm"), both);
  }
  EXPECT_FALSE(small().to_hf(20).contains("hybrid_norm"));
}

}  // namespace
}  // namespace bora::llama
