// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the families near Llama say of themselves: sizes, config.json, values that they would compute wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/models/gpt2_config.h"
#include "bora/models/granite.h"
#include "bora/models/llama_config.h"
#include "bora/models/mistral.h"
#include "bora/models/model_types.h"
#include "bora/models/olmo2.h"
#include "bora/models/phi3.h"
#include "bora/models/qwen2.h"
#include "bora/models/qwen3.h"
#include "bora/models/smollm3.h"
#include "bora/nn/language_model.h"

namespace bora {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Config>
Config small_llama() {
  Config c;
  c.seq_len = 16, c.hidden_dim = 24, c.intermediate_dim = 40, c.num_layers = 3;
  c.num_heads = 6, c.num_kv_heads = 3, c.head_dim = 8;
  return c;
}

template <class Config>
std::string llama_refusal(const Json& json) {
  try {
    Config::from_hf(json, "config.json");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// As a configuration file: what is wrong with it.
template <class Config>
std::string problems(const std::string& yaml, Config* read = nullptr) {
  ConfigTree tree;
  tree.merge_text(yaml, "my.yaml");
  Config config;
  std::string out;
  for (const auto& p : read_config(tree, config)) out += p.key + " " + p.message + "\n";
  if (read != nullptr) *read = config;
  return out;
}

template <class Config>
Config sized(std::int64_t d, std::int64_t mlp, std::int64_t layers, std::int64_t heads, std::int64_t kv_heads,
             std::int64_t head_dim) {
  Config c;
  c.hidden_dim = d, c.intermediate_dim = mlp, c.num_layers = layers;
  c.num_heads = heads, c.num_kv_heads = kv_heads, c.head_dim = head_dim;
  return c;
}

// Counts that the published checkpoints have.
TEST(LlamaLikeCount, EqualsPublishedModels) {
  EXPECT_EQ(mistral::Config{}.parameter_count(32000), 7'241'732'096);
  auto qwen2 = sized<qwen2::Config>(896, 4864, 24, 14, 2, 64);
  qwen2.tie_word_embeddings = true;
  EXPECT_EQ(qwen2.parameter_count(151936), 494'032'768);
  EXPECT_EQ(sized<qwen2::Config>(3584, 18944, 28, 28, 4, 128).parameter_count(152064), 7'615'616'512);
  auto qwen3 = sized<qwen3::Config>(1024, 3072, 28, 16, 8, 128);
  qwen3.tie_word_embeddings = true;
  EXPECT_EQ(qwen3.parameter_count(151936), 596'049'920);
  EXPECT_EQ(sized<qwen3::Config>(4096, 12288, 36, 32, 8, 128).parameter_count(151936), 8'190'735'360);
  EXPECT_EQ(olmo2::Config{}.parameter_count(100352), 7'298'617'344);
  EXPECT_EQ(smollm3::Config{}.parameter_count(128256), 3'075'098'624);
  EXPECT_EQ(phi3::Config{}.parameter_count(32064), 3'821'079'552);
  auto granite = sized<granite::Config>(2048, 8192, 40, 32, 8, 64);
  granite.tie_word_embeddings = true;
  EXPECT_EQ(granite.parameter_count(49155), 2'533'531'648);
}

template <class Model>
class LlamaLike : public testing::Test {};
using Models = testing::Types<mistral::Mistral, qwen2::Qwen2, qwen3::Qwen3, olmo2::Olmo2, smollm3::SmolLm3,
                              granite::Granite, phi3::Phi3>;
TYPED_TEST_SUITE(LlamaLike, Models);

TYPED_TEST(LlamaLike, CountsItsParameters) {
  for (const bool tied : {false, true}) {
    auto c = small_llama<typename TypeParam::Config>();
    c.tie_word_embeddings = tied;
    auto model = TypeParam::init(c, Dim<nn::VocabAxis<TypeParam>>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), c.parameter_count(50));
    EXPECT_EQ(model.shape().tied_head, tied);
  }
}

TYPED_TEST(LlamaLike, BiasesWhereTransformersHasThem) {
  using Config = typename TypeParam::Config;
  auto c = small_llama<Config>();
  if constexpr (requires { c.attention_bias; }) {
    const auto without = c.parameter_count(50);
    auto biases = (c.num_heads + 2 * c.num_kv_heads) * c.head_dim + c.hidden_dim;
    c.attention_bias = true;
    if constexpr (requires { c.mlp_bias; }) {
      c.mlp_bias = true;
      biases += 2 * c.intermediate_dim + c.hidden_dim;
    }
    EXPECT_EQ(c.parameter_count(50), without + c.num_layers * biases);
    auto model = TypeParam::init(c, Dim<nn::VocabAxis<TypeParam>>{50}, Key::from_seed(1));
    EXPECT_EQ(parameter_count(model), c.parameter_count(50));
    const auto json = c.to_hf(50);
    EXPECT_EQ(json["attention_bias"], true);
    EXPECT_TRUE(Config::from_hf(json, "config.json").attention_bias);
  }
}

TYPED_TEST(LlamaLike, HuggingFaceAndBack) {
  using Config = typename TypeParam::Config;
  auto config = small_llama<Config>();
  config.rope.theta = 500;
  const auto json = config.to_hf(50);
  EXPECT_EQ(json["rope_theta"], 500);
  EXPECT_EQ(json["hidden_act"], "silu");
  EXPECT_FALSE(json.contains("gradient_checkpointing") || json.contains("rope"));
  EXPECT_EQ(llama_refusal<Config>(json), "");
  EXPECT_EQ(Config::from_hf(json, "config.json").to_hf(50), json);
  // What is absent or null follows.
  auto less = json;
  less["head_dim"] = less["num_key_value_heads"] = nullptr;
  if constexpr (!std::is_same_v<Config, qwen3::Config>) less.erase("head_dim");
  const auto derived = Config::from_hf(less, "config.json");
  EXPECT_EQ(derived.head_dim, 4);
  EXPECT_EQ(derived.num_kv_heads, 6);
}

TYPED_TEST(LlamaLike, RefusesWhatItWouldComputeWrongly) {
  using Config = typename TypeParam::Config;
  auto json = small_llama<Config>().to_hf(50);
  json["hidden_act"] = "gelu";
  EXPECT_EQ(llama_refusal<Config>(json),
            "config.json: hidden_act is \"gelu\"; in models of this type it must be \"silu\"");
  json = small_llama<Config>().to_hf(50);
  json["model_type"] = "other";
  EXPECT_THAT(llama_refusal<Config>(json),
              HasSubstr("model_type is \"other\"; in models of this type it must be"));
  if (!requires(Config c) { c.attention_bias; } && json.contains("attention_bias")) {
    json = small_llama<Config>().to_hf(50);
    json["attention_bias"] = true;
    EXPECT_THAT(llama_refusal<Config>(json),
                AllOf(HasSubstr("attention_bias"), HasSubstr("true"), HasSubstr("must be false")));
  }
}

TYPED_TEST(LlamaLike, ReadsLevantersKeys) {
  using Config = typename TypeParam::Config;
  Config c;
  EXPECT_EQ(
      problems("hidden_dim: 24\nnum_heads: 6\nnum_kv_heads: 3\nuse_bias: false\nupcast_attn: true\n", &c),
      "");
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(
      problems<Config>("activation_function: gelu\nhybrid_norm: true\nuse_bias: true\n"),
      "activation_function = gelu must be silu in models of this type\n"
      "hybrid_norm = true must be false in models of this type\nuse_bias = true must be false in models of this type\n");
  EXPECT_EQ(problems<Config>("hidden_dim: 26\nnum_heads: 6\nnum_kv_heads: 3\n"),
            "num_heads = 6 must divide hidden_dim = 26; nearest: 2 or 13\n");
}

// Levanter's keys for models that these are not: a value that would be computed otherwise is refused.
TEST(LevantersKeys, ThatSayOtherwiseAreRefused) {
  EXPECT_EQ(problems<llama::Config>(
                "use_layer_norm_weight: true\nhybrid_norm: false\ninput_embedding_norm: false\n"),
            "");
  EXPECT_EQ(problems<llama::Config>(
                "use_layer_norm_weight: false\nhybrid_norm: true\ninput_embedding_norm: true\n"),
            "");
  EXPECT_EQ(problems<mistral::Config>("use_layer_norm_weight: false\n"),
            "use_layer_norm_weight = false must be true in models of this type\n");
  EXPECT_EQ(problems<mistral::Config>("hybrid_norm: true\ninput_embedding_norm: true\n"),
            "hybrid_norm = true must be false in models of this type\n"
            "input_embedding_norm = true must be false in models of this type\n");
}

TEST(LlamaLikeHeads, AreByDefaultAsManyAsThereAreQueries) {
  qwen2::Config qwen2;
  EXPECT_EQ(problems("hidden_dim: 24\nnum_heads: 6\n", &qwen2), "");
  EXPECT_EQ(qwen2.num_kv_heads, 6);
  mistral::Config mistral;  // as in Levanter
  EXPECT_EQ(problems("hidden_dim: 32\nnum_heads: 16\nhead_dim: null\n", &mistral), "");
  EXPECT_EQ(mistral.num_kv_heads, 8);
  EXPECT_EQ(mistral.head_dim, 2);
}

TEST(Mistral, SeesAWindowOrAll) {
  auto json = small_llama<mistral::Config>().to_hf(50);
  EXPECT_EQ(json["sliding_window"], 4096);
  json["sliding_window"] = nullptr;
  EXPECT_FALSE(mistral::Config::from_hf(json, "config.json").sliding_window);
}

// What transformers takes for the type ministral.
TEST(Mistral, HasItsWindowWhereLayerTypesSaySo) {
  auto json = small_llama<mistral::Config>().to_hf(50);
  EXPECT_FALSE(json.contains("layer_types"));
  json["layer_types"] = {"full_attention", "sliding_attention", "full_attention"};
  const auto listed = mistral::Config::from_hf(json, "config.json");
  EXPECT_EQ(listed.window(0), 0);
  EXPECT_EQ(listed.window(1), 4096);
  EXPECT_EQ(listed.to_hf(50)["layer_types"], json["layer_types"]);
  const auto model = mistral::Mistral::init(listed, Dim<mistral::Vocab>{50}, Key::from_seed(1));
  EXPECT_EQ(model.layers.blocks[0].self_attn.options.window, 0);
  EXPECT_EQ(model.layers.blocks[1].self_attn.options.window, 4096);
  json["layer_types"] = {"sliding_attention", "sliding_attention", "sliding_attention"};
  EXPECT_FALSE(mistral::Config::from_hf(json, "config.json").to_hf(50).contains("layer_types"));
  json["layer_types"] = {"full_attention", "full_attention", "full_attention"};
  EXPECT_EQ(mistral::Config::from_hf(json, "config.json").to_hf(50)["layer_types"], json["layer_types"]);
  json["layer_types"][1] = "sliding_attention";
  json["sliding_window"] = nullptr;
  EXPECT_THAT(
      llama_refusal<mistral::Config>(json),
      HasSubstr("layer_types is [\"full_attention\",\"sliding_attention\",\"full_attention\"]; in models of "
                "this type it must be [\"full_attention\",\"full_attention\",\"full_attention\"]"));
}

TEST(Qwen2, IsLevantersQwen) {
  EXPECT_EQ(models::make_model_config("qwen")->type(), "qwen2");
  // A model_type of config.json by this name is another model.
  EXPECT_THROW(models::model_config_from_hf({{"model_type", "qwen"}}, "config.json"), Error);
}

TEST(Qwen2, HasAWindowFromALayerOn) {
  auto c = small_llama<qwen2::Config>();
  c.max_window_layers = 1;
  EXPECT_EQ(c.window(2), 0);
  c.use_sliding_window = true;
  auto json = c.to_hf(50);
  EXPECT_EQ(json["layer_types"], (Json{"full_attention", "sliding_attention", "sliding_attention"}));
  EXPECT_FALSE(qwen2::Config::from_hf(json, "config.json").layer_types)
      << "they say what max_window_layers does";
  json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention"};
  const auto listed = qwen2::Config::from_hf(json, "config.json");
  EXPECT_EQ(listed.window(0), 4096);
  EXPECT_EQ(listed.window(1), 0);
  EXPECT_EQ(listed.to_hf(50)["layer_types"], json["layer_types"]);
  json["use_sliding_window"] = false;
  EXPECT_THAT(llama_refusal<qwen2::Config>(json), HasSubstr("layer_types is [\"sliding_attention\""));
  json.erase("layer_types");
  json.erase("rms_norm_eps");  // the default of transformers, not of Levanter
  EXPECT_EQ(qwen2::Config::from_hf(json, "config.json").layer_norm_epsilon, 1e-6);
}

// transformers 4 takes these two fields there and no others.
TEST(Olmo2, SpellsItsScalingInTwoFields) {
  auto c = small_llama<olmo2::Config>();
  for (const char* type : {"linear", "dynamic"}) {
    c.rope.type = type, c.rope.factor = 2;
    c.rope.original_max_position_embeddings = c.seq_len / 2;
    const auto json = c.to_hf(50);
    EXPECT_EQ(json["rope_scaling"], (Json{{"type", type}, {"factor", 2}}));
    EXPECT_EQ(json["rope_parameters"]["rope_type"], type);
    EXPECT_EQ(olmo2::Config::from_hf(json, "config.json").to_hf(50), json);
  }
}

TEST(SmolLm3, SaysWhichLayersHavePositions) {
  auto c = small_llama<smollm3::Config>();
  c.num_layers = 4;
  EXPECT_TRUE(c.has_rope(2));
  EXPECT_FALSE(c.has_rope(3));
  c.no_rope_layers = {0, 1, 1, 1};
  c.use_sliding_window = true;
  c.sliding_window = 5;
  const auto json = c.to_hf(50);
  EXPECT_EQ(json["no_rope_layers"], (Json{0, 1, 1, 1}));
  EXPECT_EQ(json["layer_types"][0], "sliding_attention");
  const auto again = smollm3::Config::from_hf(json, "config.json");
  EXPECT_FALSE(again.has_rope(0));
  EXPECT_TRUE(again.has_rope(3));
  auto listed = json;
  listed["layer_types"] = {"full_attention", "sliding_attention", "full_attention", "full_attention"};
  EXPECT_EQ(smollm3::Config::from_hf(listed, "config.json").window(1), 5);
  EXPECT_EQ(smollm3::Config::from_hf(listed, "config.json").window(0), 0);
  EXPECT_EQ(problems<smollm3::Config>("num_layers: 3\nno_rope_layers: [1, 0]\n"),
            "no_rope_layers must have num_layers = 3 entries but has 2\n");
}

// transformers 4 fails on them when the model is called, and transformers 5 turns whole heads.
TEST(Rope, HeadsThatTurnInPartAreOfOtherTypes) {
  const auto refusal = [](Json json) -> std::string {
    try {
      models::model_config_from_hf(json, "config.json");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
      return e.what();
    }
    return "";
  };
  for (auto json : {small_llama<llama::Config>().to_hf(50), small_llama<qwen3::Config>().to_hf(50),
                    small_llama<smollm3::Config>().to_hf(50)}) {
    json["partial_rotary_factor"] = 1.0;
    EXPECT_EQ(refusal(json), "");
    json["partial_rotary_factor"] = 0.5;
    EXPECT_EQ(refusal(json),
              "config.json: partial_rotary_factor is 0.5; in models of this type it must be 1");
    json.erase("partial_rotary_factor");
    json["rope_parameters"]["partial_rotary_factor"] = 0.25;
    EXPECT_EQ(refusal(json),
              "config.json: rope_parameters: partial_rotary_factor is 0.25; in models of this "
              "type it must be 1");
  }
}

TEST(Phi3, ReadsOlderNamesOfLongrope) {
  auto c = small_llama<phi3::Config>();
  c.rope.type = "longrope";
  c.rope.short_factor = c.rope.long_factor = {1, 2};
  c.rope.original_max_position_embeddings = 8;
  c.partial_rotary_factor = 0.5;
  EXPECT_EQ(c.shape(50).short_positions, 8);
  auto json = c.to_hf(50);
  EXPECT_EQ(json["original_max_position_embeddings"], 8);
  for (const char* name : {"su", "yarn"}) {
    json["rope_scaling"]["type"] = name;
    const auto read = phi3::Config::from_hf(json, "config.json");
    EXPECT_EQ(read.rope.type, "longrope");
    EXPECT_EQ(read.rotary_dim(), 4);
  }
  for (const auto& original :
       {Json(), Json(16)}) {  // beside rope_scaling alone, where it is 4096 if left out
    json["original_max_position_embeddings"] = original;
    json["rope_scaling"]["original_max_position_embeddings"] = 8;
    EXPECT_EQ(
        llama_refusal<phi3::Config>(json),
        "config.json: rope_scaling.original_max_position_embeddings is 8, but transformers takes that beside "
        "rope_scaling, " +
            std::string(original.is_null() ? "4096" : "16") +
            " (4096 where it is left out); both must be the same");
  }
  EXPECT_EQ(problems<phi3::Config>("partial_rotary_factor: 0.54\n"),
            "partial_rotary_factor = 0.54 times head_dim = 96 is 51, which must be even and above 0\n");
}

}  // namespace
}  // namespace bora
