// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Dropout of every family: in training alone, by the keys of the family and of its config.json.
#include <gtest/gtest.h>

#include <map>

#include "bora/core/create.h"
#include "bora/core/grad.h"
#include "bora/models/model_types.h"
#include "bora/models/test_builtin_models.h"
#include "bora/nn/language_model_interface.h"

namespace bora::models {
namespace {

struct Dropouts {
  std::string sizes;                        // beside those of all decoders
  std::map<std::string, std::string> keys;  // each with its name in config.json
};

const std::map<std::string, std::string> kGptKeys = {
    {"embed_pdrop", "embd_pdrop"}, {"resid_pdrop", "resid_pdrop"}, {"attn_pdrop", "attn_pdrop"}};
const std::map<std::string, std::string> kAttention = {{"attention_dropout", "attention_dropout"}};
constexpr const char* kDecoder =
    "seq_len: 12\nhidden_dim: 24\nnum_layers: 2\nnum_heads: 6\ninitializer_range: 0.5\n";
constexpr const char* kGrouped = "intermediate_dim: 20\nnum_kv_heads: 3\nhead_dim: 4\n";

std::map<std::string, Dropouts> families() {
  std::map<std::string, Dropouts> all = {
      {"gpt2", {"", kGptKeys}},
      {"backpack", {"num_senses: 4\n", kGptKeys}},
      {"gptj", {"rotary_dim: 4\n", kGptKeys}},
      {"mpt", {"", {{"attn_pdrop", "attn_config.attn_pdrop"}}}},
      {"gpt_neox",
       {"intermediate_dim: 20\nrotary_pct: 0.5\n",
        {{"attention_dropout", "attention_dropout"}, {"hidden_dropout", "hidden_dropout"}}}},
      {"phi3", {kGrouped, {{"attention_dropout", "attention_dropout"}, {"resid_pdrop", "resid_pdrop"}}}},
      {"whisper",
       {"num_mel_bins: 6\nd_model: 24\nencoder_layers: 2\nencoder_attention_heads: 3\nencoder_ffn_dim: 20\n"
        "decoder_layers: 2\ndecoder_attention_heads: 6\ndecoder_ffn_dim: 20\nmax_source_positions: 50\n"
        "max_length: 12\ninitializer_range: 0.5\n",
        {{"dropout", "dropout"},
         {"attention_dropout", "attention_dropout"},
         {"activation_dropout", "activation_dropout"}}}}};
  for (const char* type : {"llama", "mistral", "gemma", "gemma2", "gemma3", "qwen2", "qwen3", "olmo2",
                           "olmo3", "smollm3", "granite"})
    all[type] = {kGrouped, kAttention};
  for (const char* type : {"mixtral", "olmoe", "qwen2_moe", "qwen3_moe", "gpt_oss"})
    all[type] = {std::string(kGrouped) + "n_routed_experts: 4\nnum_experts_per_tok: 2\n", kAttention};
  return all;
}

std::unique_ptr<ModelConfig> config_of(const std::string& type, const std::string& more) {
  ConfigTree tree;
  tree.merge_text((type == "whisper" ? "" : kDecoder) + families().at(type).sizes + more, "my.yaml");
  auto config = make_model_config(type);
  const auto problems = read_config(tree, *config);
  EXPECT_TRUE(problems.empty()) << type << ": " << problems[0].key << " " << problems[0].message;
  return config;
}

std::unique_ptr<nn::LanguageModel> make(const std::string& type, const std::string& more) {
  return model_types().find(type)->make(*config_of(type, more), 50, Key::from_seed(1));
}

nn::TokenBatch batch_of(const std::string& type) {
  static constexpr std::array<std::string_view, 2> kNames{"batch", "position"};
  static constexpr std::array<std::string_view, 3> kSound{"batch", "mel", "frame"};
  const std::array<std::int64_t, 2> sizes{2, 12};
  const std::array<std::int64_t, 3> sound{2, 6, 100};
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 24; ++i) ids.push_back((i * 7 + i / 5) % 50);
  const auto array = core::from_data({kNames, sizes}, std::span<const std::int32_t>(ids));
  nn::TokenBatch batch{.ids = array, .targets = array, .weights = core::ones({kNames, sizes})};
  if (type == "whisper") batch.features = core::random_normal(Key::from_seed(2), {kSound, sound});
  return batch;
}

double loss(const nn::LanguageModel& model, const nn::TokenBatch& batch, std::optional<Key> key) {
  return model.objective(batch, key, {}).loss.item();
}

// A value of JSON by a name with points.
Json at_path(const Json& json, const std::string& path) {
  const auto point = path.find('.');
  if (point == path.npos) return json.at(path);
  return at_path(json.at(path.substr(0, point)), path.substr(point + 1));
}

TEST(Dropout, EveryTypeIsHere) {
  for (const auto& type : model_types().names()) EXPECT_TRUE(families().contains(type)) << type;
}

TEST(Dropout, OnlyInTrainingAndByTheKey) {
  for (const auto& [type, family] : families()) {
    const auto batch = batch_of(type);
    const auto without = make(type, "");
    const auto plain = loss(*without, batch, std::nullopt);
    EXPECT_EQ(loss(*without, batch, Key::from_seed(3)), plain) << type << " drops by default";
    for (const auto& [key, name] : family.keys) {
      const auto model = make(type, key + ": 0.3\n");
      EXPECT_EQ(loss(*model, batch, std::nullopt), plain) << type << ", " << key;
      const auto first = loss(*model, batch, Key::from_seed(3));
      EXPECT_NE(first, plain) << type << ", " << key;
      EXPECT_EQ(loss(*model, batch, Key::from_seed(3)), first) << type << ", " << key;
      EXPECT_NE(loss(*model, batch, Key::from_seed(4)), first) << type << ", " << key;
      // So little that the loss can only be a little another one.
      double sum = 0;
      const auto little = make(type, key + ": 0.001\n");
      for (std::uint64_t seed = 0; seed < 20; ++seed) sum += loss(*little, batch, Key::from_seed(seed));
      EXPECT_NEAR(sum / 20, plain, 0.02 * plain) << type << ", " << key;
    }
  }
}

// A block that is computed again drops what it dropped.
TEST(Dropout, GradientsAreThoseOfAnyRematPolicy) {
  for (const auto& family : families()) {
    const std::string& type = family.first;
    const auto batch = batch_of(type);
    std::string more;
    for (const auto& item : family.second.keys) more += item.first + ": 0.3\n";
    const auto gradients = [&](const std::string& policy) {
      const auto model = make(type, more + "gradient_checkpointing: " + policy + "\n");
      std::vector<core::Array*> arrays;
      for (auto& p : core::trainable_parameters(model->parameters())) arrays.push_back(p.array);
      const auto result =
          core::value_and_grad(arrays, [&] { return model->objective(batch, Key::from_seed(3), {}).loss; });
      std::vector<std::vector<float>> out;
      for (const auto& g : result.gradients) out.push_back(g.to_vector<float>());
      return out;
    };
    EXPECT_EQ(gradients("true"), gradients("false")) << type;
  }
}

TEST(Dropout, IsReadFromAndWrittenToConfigJson) {
  for (const auto& [type, family] : families()) {
    for (const auto& [key, name] : family.keys) {
      const auto written = make(type, key + ": 0.25\n")->hf_config();
      EXPECT_EQ(at_path(written, name), 0.25) << type << ", " << name;
      const auto& known = *model_types().find(type);
      const auto again = known.make(*known.from_hf(written, "config.json"), 50, Key::from_seed(1));
      EXPECT_EQ(again->hf_config(), written) << type << ", " << name;
      const auto plain = make(type, "")->hf_config();
      EXPECT_EQ(at_path(plain, name), 0) << type << ", " << name;
    }
  }
}

}  // namespace
}  // namespace bora::models
