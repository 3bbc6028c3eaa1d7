// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <gtest/gtest.h>

#include "bora/models/gpt2.h"
#include "bora/models/llama.h"

namespace bora {
namespace {

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
