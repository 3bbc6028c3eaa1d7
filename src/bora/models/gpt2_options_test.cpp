// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// GPT-2 without its biases, and with scores that are not divided.
#include <gtest/gtest.h>

#include "bora/models/gpt2.h"

namespace bora::gpt2 {
namespace {

Config small() {
  Config c;
  c.seq_len = 16, c.hidden_dim = 16, c.num_layers = 2, c.num_heads = 4;
  c.initializer_range = 0.3;
  return c;
}

Gpt2 model_of(const Config& c) { return Gpt2::init(c, Dim<Vocab>{20}, Key::from_seed(5)); }

std::vector<float> hidden(const Gpt2& model) {
  const std::vector<std::int32_t> ids = {3, 1, 4, 1, 5, 9};
  constexpr std::array<std::int64_t, 2> kSizes{2, 3};
  const auto named = indices_from_array<Batch, Pos>(
      core::from_data({Axes<Batch, Pos>::names, kSizes}, std::span<const std::int32_t>(ids)));
  return model(named, {}).array().to_vector<float>();
}

// New biases are zero.
TEST(Gpt2Options, WithoutBiasesIsWithZeros) {
  auto config = small();
  const auto with = model_of(config);
  config.use_bias = false;
  auto without = model_of(config);
  EXPECT_EQ(hidden(without), hidden(with));
  for (auto& p : parameters(without)) EXPECT_EQ(p.path.find("bias"), p.path.npos) << p.path;
  EXPECT_EQ(parameter_count(without), config.parameter_count(20));
}

TEST(Gpt2Options, ScoresThatAreNotDividedAreThoseOfLargerQueries) {
  auto config = small();
  config.scale_attn_weights = false;
  const auto plain = model_of(config);
  auto divided = model_of(small());
  EXPECT_NE(hidden(plain), hidden(divided));
  for (auto& block : divided.h.blocks) {  // the root of four
    auto& weight = block.attn.c_attn.weight;
    auto values = weight.array().to_vector<float>();
    for (std::size_t i = 0; i < values.size() / 3; ++i) values[i] *= 2;
    weight = from_vector<Qkv, Head, HeadDim, Embed>(values, Dim<Qkv>{3}, Dim<Head>{4}, Dim<HeadDim>{4},
                                                    Dim<Embed>{16});
  }
  EXPECT_EQ(hidden(plain), hidden(divided));
}

TEST(Gpt2Options, AHeadOfItsOwn) {
  auto config = small();
  config.tie_word_embeddings = false;
  auto model = model_of(config);
  EXPECT_EQ(&model.head(), &model.lm_head.weight);
  EXPECT_EQ(hidden(model), hidden(model_of(small())));
  EXPECT_EQ(parameter_count(model), config.parameter_count(20));
  EXPECT_EQ(parameter_count(model), small().parameter_count(20) + 20 * 16);
  EXPECT_EQ(model.hf_name("lm_head.weight").name, "lm_head.weight");
  EXPECT_FALSE(Config::from_hf(config.to_hf(20), "config.json").tie_word_embeddings);
}

TEST(Gpt2Options, AreCountedAndDescribed) {
  auto config = small();
  EXPECT_FALSE(config.to_hf(20).contains("use_bias"));
  config.use_bias = config.scale_attn_weights = false;
  const auto json = config.to_hf(20);
  const auto again = Config::from_hf(json, "config.json");
  EXPECT_FALSE(again.use_bias);
  EXPECT_FALSE(again.scale_attn_weights);
  EXPECT_EQ(again.to_hf(20), json);
}

}  // namespace
}  // namespace bora::gpt2
