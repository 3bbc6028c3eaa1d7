// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What config.json of GPT-NeoX, GPT-J, MPT and Backpack may say, and how many parameters they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/backpack.h"
#include "bora/models/gpt_neox.h"
#include "bora/models/gptj.h"
#include "bora/models/mpt.h"

namespace bora {
namespace {

using testing::HasSubstr;

template <class Config>
Config small_gpt() {
  Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.num_layers = 2, c.num_heads = 3;
  return c;
}

template <class Config>
std::string gpt_refusal(const Json& json) {
  try {
    Config::from_hf(json, "config.json");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// What a configuration file is told, the first problem.
template <class Config>
std::string problem(const char* text) {
  ConfigTree tree;
  tree.merge_text(text, "my.yaml");
  Config config;
  const auto problems = read_config(tree, config);
  return problems.empty() ? "" : problems[0].key + ": " + problems[0].message;
}

TEST(GptNeoX, ParametersOfThePublishedModels) {
  EXPECT_EQ(gpt_neox::Config{}.parameter_count(50432), 20'554'567'680);
  gpt_neox::Config pythia;  // of 160 million
  pythia.hidden_dim = 768, pythia.intermediate_dim = 3072, pythia.num_layers = pythia.num_heads = 12;
  EXPECT_EQ(pythia.parameter_count(50304), 162'322'944);
  for (const bool plain : {false, true}) {
    auto c = small_gpt<gpt_neox::Config>();
    c.intermediate_dim = 40, c.rotary_pct = 0.5, c.attention_bias = plain, c.tie_word_embeddings = plain;
    auto model = gpt_neox::GptNeoX::init(c, Dim<gpt_neox::Vocab>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), c.parameter_count(50));
  }
}

TEST(GptNeoX, ConfigFromHuggingFaceAndBack) {
  auto config = small_gpt<gpt_neox::Config>();
  config.rotary_pct = 0.5, config.rope.theta = 500, config.use_parallel_residual = false;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["rotary_emb_base"], 500);
  EXPECT_EQ(gpt_neox::Config::from_hf(json, "config.json").to_hf(50), json);
  auto newer = json;
  for (const auto* key : {"rope_theta", "rope_scaling", "rotary_emb_base", "rotary_pct"}) newer.erase(key);
  newer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500}, {"partial_rotary_factor", 0.5}};
  EXPECT_EQ(gpt_neox::Config::from_hf(newer, "config.json").to_hf(50), json);
  auto first = json;  // as Pythia has it
  for (const auto* key : {"rope_theta", "rope_scaling", "attention_bias"}) first.erase(key);
  EXPECT_EQ(gpt_neox::Config::from_hf(first, "config.json").to_hf(50), json);
}

TEST(GptNeoX, RefusesWhatItWouldComputeWrongly) {
  const auto json = small_gpt<gpt_neox::Config>().to_hf(50);
  EXPECT_EQ(gpt_refusal<gpt_neox::Config>(json), "");
  auto other = json;
  other["hidden_act"] = "tanh";
  EXPECT_THAT(gpt_refusal<gpt_neox::Config>(other), HasSubstr("hidden_act"));
  other = json;
  other["rotary_pct"] = 0.4;
  EXPECT_THAT(gpt_refusal<gpt_neox::Config>(other),
              HasSubstr("rotary_pct = 0.4  of heads of 8 makes 3 dimensions"));
  other = json;
  other["head_dim"] = 4;
  EXPECT_EQ(gpt_refusal<gpt_neox::Config>(other),
            "config.json: head_dim is 4; in models of this type it must be 8");
}

// transformers reads the names of other families among rope_parameters alone.
TEST(GptNeoX, NewerNamesBesideItsOwn) {
  auto json = small_gpt<gpt_neox::Config>().to_hf(50);
  for (const auto* key : {"rope_theta", "rope_scaling", "rope_parameters", "rotary_emb_base", "rotary_pct"})
    json.erase(key);
  EXPECT_EQ(gpt_neox::Config::from_hf(json, "config.json").rotary_pct, 0.25);
  auto other = json;
  other["rope_theta"] = 500;
  EXPECT_EQ(
      gpt_refusal<gpt_neox::Config>(other),
      "config.json: rope_theta is 500, but transformers reads rotary_emb_base in models of this type, 10000.0 "
      "(10000.0 where it is left out), which must be the same\nhint: give both the same value, or remove rope_theta");
  other = json;
  other["partial_rotary_factor"] = 1.0;
  EXPECT_EQ(
      gpt_refusal<gpt_neox::Config>(other),
      "config.json: partial_rotary_factor is 1.0, but transformers reads rotary_pct in models of this type, 0.25 "
      "(0.25 where it is left out), which must be the same\nhint: give both the same value, or remove "
      "partial_rotary_factor");
  other = json;
  other["rotary_pct"] = 0.5;
  other["rope_parameters"] = {{"partial_rotary_factor", 0.25}};
  EXPECT_EQ(
      gpt_refusal<gpt_neox::Config>(other),
      "config.json: rotary_pct is 0.5 and partial_rotary_factor of rope_parameters is 0.25, which must be the "
      "same; remove one of the two");
}

TEST(GptJ, ParametersOfThePublishedModel) {
  EXPECT_EQ(gptj::Config{}.parameter_count(50400), 6'050'882'784);
  auto c = small_gpt<gptj::Config>();
  c.rotary_dim = 4;
  for (const std::int64_t inner : {96, 40}) {
    if (inner != 96) c.intermediate_dim = inner;
    auto model = gptj::GptJ::init(c, Dim<gptj::Vocab>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), c.parameter_count(50));
  }
}

TEST(GptJ, ConfigFromHuggingFaceAndBack) {
  auto config = small_gpt<gptj::Config>();
  config.rotary_dim = 4, config.attn_pdrop = 0.1;
  const auto json = config.to_hf(50);
  EXPECT_TRUE(json["n_inner"].is_null());
  EXPECT_EQ(gptj::Config::from_hf(json, "config.json").to_hf(50), json);
  auto other = json;
  other["tie_word_embeddings"] = true;
  EXPECT_THAT(gpt_refusal<gptj::Config>(other), HasSubstr("tie_word_embeddings"));
  EXPECT_EQ(problem<gptj::Config>("hidden_dim: 24\nnum_heads: 3\nrotary_dim: 10\n"),
            "rotary_dim = 10: must be even and at most head_dim = 8");
  EXPECT_EQ(problem<gptj::Config>("hidden_dim: 1_000_000_000\nnum_heads: 10\nrotary_dim: 8\n"),
            "hidden_dim = 1_000_000_000: times 4 must be from 1 to 2147483647");
}

TEST(Mpt, ParametersOfThePublishedModel) {
  EXPECT_EQ(mpt::Config{}.parameter_count(50432), 6'649'286'656);
  const auto c = small_gpt<mpt::Config>();
  auto model = mpt::Mpt::init(c, Dim<mpt::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(parameter_count(model), c.parameter_count(50));
}

TEST(Mpt, ConfigFromHuggingFaceAndBack) {
  auto config = small_gpt<mpt::Config>();
  config.clip_qkv = 6;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["attn_config"]["clip_qkv"], 6);
  EXPECT_TRUE(json["attn_config"]["softmax_scale"].is_null());
  EXPECT_EQ(json["attn_config"]["alibi"], true);
  EXPECT_FALSE(json.contains("clip_qkv"));
  EXPECT_TRUE(json["attn_config"]["alibi_bias_max"].is_number_integer());  // transformers 5 takes no other
  EXPECT_EQ(mpt::Config::from_hf(json, "config.json").to_hf(50), json);
}

TEST(Mpt, RefusesWhatItWouldComputeWrongly) {
  const auto json = small_gpt<mpt::Config>().to_hf(50);
  EXPECT_EQ(gpt_refusal<mpt::Config>(json), "");
  const std::pair<const char*, Json> inner[] = {{"alibi", false},
                                                {"alibi_bias_max", 16},
                                                {"qk_ln", true},
                                                {"prefix_lm", true},
                                                {"attn_type", "multiquery_attention"}};
  for (const auto& [key, value] : inner) {
    auto other = json;
    other["attn_config"][key] = value;
    EXPECT_THAT(gpt_refusal<mpt::Config>(other), HasSubstr(std::string("attn_config.") + key + " is "))
        << key;
  }
  const std::pair<const char*, Json> outer[] = {
      {"no_bias", false}, {"logit_scale", "inv_sqrt_d_model"}, {"resid_pdrop", 0.1}};
  for (const auto& [key, value] : outer) {
    auto other = json;
    other[key] = value;
    EXPECT_THAT(gpt_refusal<mpt::Config>(other), HasSubstr(std::string(key) + " is ")) << key;
  }
  auto other = json;
  other["expansion_ratio"] = 2;
  EXPECT_THAT(gpt_refusal<mpt::Config>(other), HasSubstr("expansion_ratio = 2  must be 4"));
  other = json;
  other["attn_config"]["clip_qkv"] = -1;
  EXPECT_THAT(gpt_refusal<mpt::Config>(other), HasSubstr("attn_config.clip_qkv = -1  must be above 0"));
  EXPECT_EQ(problem<mpt::Config>("expansion_ratio: 3\n"),
            "expansion_ratio = 3: must be 4 in models of this type");
}

TEST(Backpack, ParametersOfThePublishedModel) {
  backpack::Config published;
  published.seq_len = 512;
  EXPECT_EQ(published.parameter_count(50264), 170'083'584);
  auto c = small_gpt<backpack::Config>();
  c.num_senses = 4, c.sense_intermediate_scale = 2;
  for (const bool other_width : {false, true}) {
    if (other_width) c.intermediate_dim = 40;
    auto model = backpack::Backpack::init(c, Dim<backpack::Vocab>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), c.parameter_count(50));
  }
}

TEST(Backpack, ConfigFromHuggingFaceAndBack) {
  auto config = small_gpt<backpack::Config>();
  config.num_senses = 4, config.divide_by_senses = true;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["model_type"], "backpack-gpt2");
  EXPECT_EQ(json["n_inner"], 96);
  EXPECT_FALSE(json.contains("mlp_scale"));
  EXPECT_EQ(backpack::Config::from_hf(json, "config.json").to_hf(50), json);
  const auto silent = backpack::Config::from_hf({{"model_type", "backpack-gpt2"}}, "config.json");
  EXPECT_TRUE(silent.scale_attn_by_inverse_layer_idx);
  EXPECT_FALSE(silent.divide_by_senses);
  EXPECT_EQ(silent.seq_len, 512);
  EXPECT_EQ(silent.embed_pdrop, 0.1);
  auto other = json;
  other["scale_attn_weights"] = false;
  EXPECT_THAT(gpt_refusal<backpack::Config>(other), HasSubstr("scale_attn_weights"));
  EXPECT_EQ(problem<backpack::Config>("hidden_dim: 24\nnum_heads: 3\nnum_senses: 5\n"),
            "num_senses = 5: must divide hidden_dim = 24");
}

}  // namespace
}  // namespace bora
