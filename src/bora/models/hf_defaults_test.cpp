// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a config.json means that leaves keys out, or says them under a second name: as of transformers 5.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/gemma2.h"
#include "bora/models/gemma3.h"
#include "bora/models/gpt_oss.h"
#include "bora/models/model_config.h"
#include "bora/models/model_types.h"
#include "bora/models/olmo3.h"
#include "bora/models/qwen3.h"
#include "bora/models/smollm3.h"

namespace bora::models {
namespace {

using testing::HasSubstr;

std::string sizes(const Json& json) {
  const auto s = model_config_from_hf(json, "config.json")->shape(100);
  return fmt::format("{} layers, {}, {}/{} heads of {}, {}; {} positions", s.layers, s.hidden, s.heads,
                     s.kv_heads, s.head_dim, s.mlp, s.seq_len);
}

struct Silent {
  const char *type, *sizes;
};

TEST(HfDefaults, OfAConfigThatSaysItsTypeAlone) {
  for (const auto& [type, expected] :
       {Silent{"gpt2", "12 layers, 768, 12/12 heads of 64, 3072; 1024 positions"},
        {"gptj", "28 layers, 4096, 16/16 heads of 256, 16384; 2048 positions"},
        {"gpt_neox", "44 layers, 6144, 64/64 heads of 96, 24576; 2048 positions"},
        {"mpt", "24 layers, 2048, 16/16 heads of 128, 8192; 2048 positions"},
        {"llama", "32 layers, 4096, 32/32 heads of 128, 11008; 2048 positions"},
        {"mistral", "32 layers, 4096, 32/8 heads of 128, 14336; 131072 positions"},
        {"mixtral", "32 layers, 4096, 32/8 heads of 128, 28672; 131072 positions"},
        {"qwen2", "32 layers, 4096, 32/32 heads of 128, 22016; 32768 positions"},
        {"qwen3", "32 layers, 4096, 32/32 heads of 128, 22016; 32768 positions"},
        {"qwen2_moe", "24 layers, 2048, 16/16 heads of 128, 11264; 32768 positions"},
        {"qwen3_moe", "24 layers, 2048, 32/4 heads of 64, 6144; 32768 positions"},
        {"gemma", "28 layers, 3072, 16/16 heads of 256, 24576; 8192 positions"},
        {"gemma2", "26 layers, 2304, 8/4 heads of 256, 9216; 8192 positions"},
        {"gemma3_text", "26 layers, 2304, 8/4 heads of 256, 9216; 131072 positions"},
        {"phi3", "32 layers, 3072, 32/32 heads of 96, 8192; 4096 positions"},
        {"olmo2", "32 layers, 4096, 32/32 heads of 128, 11008; 2048 positions"},
        {"olmo3", "32 layers, 4096, 32/32 heads of 128, 11008; 2048 positions"},
        {"olmoe", "16 layers, 2048, 16/16 heads of 128, 16384; 4096 positions"},
        {"granite", "32 layers, 4096, 32/32 heads of 128, 11008; 2048 positions"},
        {"smollm3", "36 layers, 2048, 16/4 heads of 128, 11008; 32768 positions"},
        {"gpt_oss", "36 layers, 2880, 64/8 heads of 64, 11520; 131072 positions"}})
    EXPECT_EQ(sizes({{"model_type", type}, {"vocab_size", 100}}), expected) << type;
}

TEST(HfDefaults, OfNumbersWithoutASize) {
  EXPECT_EQ(smollm3::Config::from_hf({{"model_type", "smollm3"}}, "config.json").rope.theta, 2e6);
  const auto olmo = [](const Json& more) {
    Json json = {{"model_type", "olmo3"}};
    json.update(more);
    return olmo3::Config::from_hf(json, "config.json").rope.theta;
  };
  EXPECT_EQ(olmo(Json::object()), 500000);
  EXPECT_EQ(olmo({{"rope_theta", 10000}}), 10000);
  EXPECT_EQ(olmo({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 20000}}}}), 20000);
  const Json narrow = {{"head_dim", 64}, {"num_hidden_layers", 2}};
  EXPECT_EQ(gemma2::Config::from_hf(narrow, "config.json").query_pre_attn_scalar, 256);
  EXPECT_EQ(gemma3::Config::from_hf(narrow, "config.json").query_pre_attn_scalar, 256);
  EXPECT_EQ(gemma3::Config::from_hf(narrow, "config.json").sliding_window, 4096);
  const auto qwen =
      qwen3::Config::from_hf({{"hidden_size", 256}, {"num_key_value_heads", nullptr}}, "config.json");
  EXPECT_EQ(qwen.head_dim, 128) << "whatever the width";
  EXPECT_EQ(qwen.num_kv_heads, 32) << "as many as heads where it is null";
}

// Scaling without a context of its own takes the family's.
TEST(HfDefaults, OfTheOriginalContext) {
  const Json json = {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2}}}};
  EXPECT_EQ(smollm3::Config::from_hf(json, "config.json").rope.original_max_position_embeddings, 32768);
  EXPECT_EQ(gpt_oss::Config::from_hf(json, "config.json").rope.original_max_position_embeddings, 131072);
}

TEST(HfDefaults, AttentionThatSeesWhatComesIsRefused) {
  Json json = {{"model_type", "qwen3"}, {"is_causal", true}};
  EXPECT_THAT(sizes(json), HasSubstr("32 layers"));
  json["is_causal"] = false;
  try {
    (void)sizes(json);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "config.json: is_causal is false; in models of this type it must be true");
  }
}

TEST(HfDefaults, SecondNamesAreRead) {
  const Json sizes_of_others = {{"hidden_size", 64}, {"num_hidden_layers", 3}, {"num_attention_heads", 4}};
  for (const auto* type : {"gpt2", "gptj", "mpt"}) {
    Json json = sizes_of_others;
    json.update({{"model_type", type}, {"vocab_size", 100}, {"rotary_dim", 8}});
    EXPECT_THAT(sizes(json), HasSubstr("3 layers, 64, 4/4 heads of 16, 256")) << type;
  }
  Json both = {{"model_type", "gpt2"}, {"n_head", 4}, {"num_attention_heads", 4}};
  EXPECT_THAT(sizes(both), HasSubstr("4/4 heads of 192"));
  both["num_attention_heads"] = 2;
  try {
    (void)sizes(both);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "config.json: num_attention_heads is 2 and n_head is 4, which must be the same; remove one of the two");
  }
  const Json experts = {{"model_type", "mixtral"}, {"num_experts", 4}};
  EXPECT_EQ(model_config_from_hf(experts, "config.json")->parameter_count(100),
            model_config_from_hf({{"model_type", "mixtral"}, {"num_local_experts", 4}}, "config.json")
                ->parameter_count(100));
}

}  // namespace
}  // namespace bora::models
