// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/weight_decay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "bora/base/error.h"

namespace bora::optim {
namespace {

using testing::ElementsAre;

core::Parameter parameter(std::string path, std::string module) {
  auto role = core::Role::weight;
  if (module.ends_with("Norm")) role = core::Role::norm;
  if (module.ends_with("Embedding")) role = core::Role::embedding;
  if (path.ends_with("bias")) role = core::Role::bias;
  return {.path = std::move(path), .module = std::move(module), .role = role};
}

std::vector<core::Parameter> llama() {
  return {parameter("embeddings.weight", "Llama.Embedding"),
          parameter("layers.0.attn_norm.weight", "Llama.Block.RmsNorm"),
          parameter("layers.0.attn.q_proj.weight", "Llama.Block.Attention.Linear"),
          parameter("layers.0.mlp.down_proj.weight", "Llama.Block.GatedMlp.Linear"),
          parameter("norm.weight", "Llama.RmsNorm"),
          parameter("lm_head.weight", "Llama.Linear")};
}

std::vector<core::Parameter> gpt2() {
  return {parameter("embeddings.token.weight", "Gpt2.Embedding"),
          parameter("embeddings.position.weight", "Gpt2.Embedding"),
          parameter("layers.0.ln_1.weight", "Gpt2.Block.LayerNorm"),
          parameter("layers.0.ln_1.bias", "Gpt2.Block.LayerNorm"),
          parameter("layers.0.attn.c_attn.weight", "Gpt2.Block.Attention.Linear"),
          parameter("layers.0.attn.c_attn.bias", "Gpt2.Block.Attention.Linear")};
}

// Their paths, sorted.
std::vector<std::string> decayed_weights(const OptimizerConfig& config,
                                         std::span<const core::Parameter> parameters) {
  const auto mask = weight_decay_mask(config, parameters);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (mask[i]) out.push_back(parameters[i].path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(WeightDecay, DefaultForLlama) {
  EXPECT_THAT(decayed_weights({}, llama()),
              ElementsAre("layers.0.attn.q_proj.weight", "layers.0.mlp.down_proj.weight", "lm_head.weight"));
}

TEST(WeightDecay, DefaultForGpt2) {
  EXPECT_THAT(decayed_weights({}, gpt2()), ElementsAre("layers.0.attn.c_attn.weight"));
}

TEST(WeightDecay, NoDefaultMaskMeansEverythingDecays) {
  OptimizerConfig c;
  c.default_weight_decay_mask = false;
  EXPECT_EQ(decayed_weights(c, gpt2()).size(), 6u);
}

TEST(WeightDecay, ListOfParts) {
  OptimizerConfig c;
  c.weight_decay_modules = std::vector<std::string>{"attn.q_proj", "Llama.Embedding"};
  EXPECT_THAT(decayed_weights(c, llama()), ElementsAre("embeddings.weight", "layers.0.attn.q_proj.weight"));
  c.default_weight_decay_mask = true;
  EXPECT_EQ(decayed_weights(c, llama()).size(), 4u);
}

TEST(WeightDecay, Expression) {
  OptimizerConfig c;
  c.weight_decay_modules = R"(.*attn\..*weight|Embedding\.weight)";
  EXPECT_THAT(decayed_weights(c, gpt2()), ElementsAre("embeddings.position.weight", "embeddings.token.weight",
                                                      "layers.0.attn.c_attn.weight"));
}

// Nothing would decay, or less than is meant.
TEST(WeightDecay, WhatSelectsNothingIsRefused) {
  const auto refusal = [](auto modules) -> std::string {
    OptimizerConfig c;
    c.weight_decay_modules = std::move(modules);
    try {
      decayed_weights(c, gpt2());
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Config);
      return e.what();
    }
    return "";
  };
  const std::string hint = "\nhint: one is embeddings.token.weight, Embedding.weight of kind";
  EXPECT_EQ(refusal(std::string("c_attn")),  // matched from the start
            "optimizer.weight_decay_modules: c_attn selects none of 6 parameters" + hint);
  EXPECT_EQ(refusal(std::vector<std::string>{"attn", "mpl"}),
            "optimizer.weight_decay_modules: mpl selects none of 6 parameters" + hint);
}

// Levanter's own names are others.
TEST(WeightDecay, AlternativesThatSelectNothingAreRefused) {
  const auto outcome = [](const std::string& expression) -> std::string {
    OptimizerConfig c;
    c.weight_decay_modules = expression;
    try {
      return std::to_string(decayed_weights(c, gpt2()).size());
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Config);
      return e.what();
    }
  };
  const auto none = [](const std::string& part) {
    return "optimizer.weight_decay_modules: " + part +
           " selects none of 6 parameters\nhint: one is embeddings.token.weight, Embedding.weight of kind";
  };
  EXPECT_EQ(outcome(".*attn.*weight|.*token_embeddings|.*position_embeddings"), none(".*token_embeddings"));
  EXPECT_EQ(outcome(R"(.*attn.*|x\|y)"), none(R"(x\|y)"));
  EXPECT_EQ(outcome(".*(attn|mlp).*weight"), "1");
  EXPECT_EQ(outcome(".*[|]|.*attn.*"), none(".*[|]"));
  EXPECT_EQ(outcome(R"(.*attn\.(?:c_attn|c_proj)\.|.*ln_[1|2].*)"), "4");
  EXPECT_EQ(outcome(R"((.*attn.*)|(.)\2.*|.*token.*)"), "3");  // \2 is none's of a part of its own
}

TEST(WeightDecay, IsDescribed) {
  const auto described = [](auto modules, const std::vector<core::Parameter>& parameters) {
    OptimizerConfig c;
    c.weight_decay_modules = std::move(modules);
    return describe_decay(c, parameters);
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(describe_decay({}, llama()), "");
  EXPECT_EQ(described(List{".attn.", "mlp"}, llama()), "attn, mlp: 2 of 6 arrays");
  EXPECT_EQ(described(std::string("lm_head"), llama()), "lm_head: 1 of 6 arrays");
  EXPECT_EQ(described(std::string(".*attn.*weight"), gpt2()), "attn.c_attn.weight: 1 of 6 arrays");
  auto two = llama();
  two.push_back(parameter("layers.1.attn.q_proj.weight", "Llama.Block.Attention.Linear"));
  EXPECT_EQ(described(List{"q_proj"}, two), "attn: 2 of 7 arrays");
  EXPECT_EQ(described(List{"layers.1"}, two), "layers.1.attn.q_proj.weight: 1 of 7 arrays");
  std::vector<core::Parameter> many;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
    many.push_back(parameter(name, "Linear"));
  EXPECT_EQ(described(std::string("."), many), "a, b, c, d, e, f, g, h and 2 more: 10 of 10 arrays");
}

TEST(WeightDecay, WrongExpression) {
  OptimizerConfig c;
  c.weight_decay_modules = "(";
  try {
    decayed_weights(c, gpt2());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("optimizer.weight_decay_modules: \"(\" is no regular expression: "),
              0u);
  }
}

}  // namespace
}  // namespace bora::optim
