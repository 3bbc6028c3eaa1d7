// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/peft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/models/add_model.h"
#include "bora/nn/embedding.h"
#include "bora/run/peft_config.h"

namespace bora::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<nn::LanguageModel> small_model() {
  const auto config = models::model_config_from_hf(
      parse_json(R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
                     "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8,
                     "rms_norm_eps": 1e-5, "rope_theta": 100.0, "vocab_size": 20})",
                 "config.json"),
      "config.json");
  return models::make_model(*config, 20, Key::from_seed(1));
}

const std::string kPlain = R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]})";

std::string with(const std::string& keys) { return kPlain.substr(0, kPlain.size() - 1) + ", " + keys + "}"; }

struct Said {
  std::optional<ErrorKind> kind;
  std::string words;
};
Said said(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return {e.kind(), e.what()};
  }
  return {};
}

Said said_of(const std::string& config) {
  return said([&] {
    adapters_of_peft(parse_json(config, "adapter_config.json"), named_maps(*small_model()),
                     "adapter_config.json");
  });
}

TEST(PeftConfig, WhatPeftWritesBesideIsNoMatter) {
  EXPECT_EQ(said_of(kPlain).words, "");
  EXPECT_EQ(said_of(with(R"("use_dora": false, "modules_to_save": null, "loftq_config": {}, "bias": "none",
                            "layers_to_transform": [], "init_lora_weights": "gaussian", "peft_version": "0.21.2",
                            "fan_in_fan_out": true, "revision": "main")"))
                .words,
            "");
}

TEST(PeftConfig, WhatIsMoreThanAnAdapterIsRefusedByNameAllAtOnce) {
  const auto [kind, words] = said_of(with(
      R"("use_dora": true, "modules_to_save": ["lm_head"], "bias": "all", "init_lora_weights": "pissa",
         "layers_to_transform": [0], "something_new": 3)"));
  EXPECT_EQ(kind, ErrorKind::Unsupported);
  EXPECT_THAT(
      words,
      AllOf(HasSubstr("adapter_config.json: use_dora is true, which is not read"),
            HasSubstr("adapter_config.json: modules_to_save is [\"lm_head\"], which is not read"),
            HasSubstr("adapter_config.json: bias is \"all\": trained biases are not read"),
            HasSubstr("init_lora_weights is \"pissa\", which changes the model's own weights"),
            HasSubstr("layers_to_transform is [0]"), HasSubstr("something_new is 3, which is not read")));
  EXPECT_THAT(said_of(R"({"peft_type": "IA3"})").words, HasSubstr("peft_type is \"IA3\"; LORA is read"));
}

TEST(PeftConfig, BrokenOnes) {
  for (const auto& [config, words] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "adapter_config.json: should be a map"},
           {"{}", "adapter_config.json: peft_type is missing"},
           {R"({"peft_type": "LORA", "target_modules": 3})", "target_modules is 3, neither names nor a text"},
           {R"({"peft_type": "LORA", "target_modules": [3]})", "target_modules holds 3, not a name"},
           {R"({"peft_type": "LORA", "target_modules": "("})", "target_modules: ( is no regular expression"},
           {R"({"peft_type": "LORA"})",
            "target_modules selects none of the model's 15 linear maps; the first one is "
            "model.layers.0.self_attn.q_proj"},
           {with(R"("rank_pattern": [1])"), "rank_pattern is no map"},
           {with(R"("rank_pattern": {"q_proj": 1.5})"),
            "r of model.layers.0.self_attn.q_proj is 1.5, not a whole"},
           {with(R"("rank_pattern": {"q_proj": 0})"), "is 0, not a whole number from 1 to 65536"},
           {with(R"("alpha_pattern": {"q_proj": "x"})"), "q_proj should be a number"},
           {with(R"("lora_dropout": 1)"), "lora_dropout is 1, not from 0 to below 1"}})
    EXPECT_THAT(said_of(config).words, HasSubstr(words)) << config;
}

TEST(PeftConfig, PatternsAreComparedAsPeftDoes) {
  const auto maps = named_maps(*small_model());
  const auto adapters =
      adapters_of_peft(parse_json(with(R"("rank_pattern": {"layers.0.self_attn.q_proj": 3, "proj": 9},
                         "alpha_pattern": {"layers\\.[1-9].*": 7})"),
                                  "adapter_config.json"),
                       maps, "adapter_config.json");
  ASSERT_EQ(adapters.size(), 2U);
  EXPECT_EQ(adapters[0].shape, (nn::LoraShape{.rank = 3, .alpha = 4}));
  EXPECT_EQ(adapters[1].shape, (nn::LoraShape{.rank = 2, .alpha = 7})) << "`proj` stands behind no dot";
}

TEST(PeftConfig, NamesThatSayWhatIsAdapted) {
  const auto targets = [](std::vector<nn::NewAdapter> adapters) {
    auto model = small_model();
    model->attach_adapters(adapters, Key::from_seed(1));
    return peft_config(named_maps(*model), "base", false);
  };
  EXPECT_EQ(targets({{"layers.0.attn.q_proj", {}}, {"layers.1.attn.q_proj", {}}})["target_modules"],
            Json::array({"q_proj"}));
  const auto config = targets({{"layers.0.attn.q_proj", {.rank = 2, .alpha = 1.5}},
                               {"layers.1.mlp.up_proj", {.rank = 3, .alpha = 1.5, .rank_stabilized = true}}});
  EXPECT_EQ(config["target_modules"],
            Json::array({"model.layers.0.self_attn.q_proj", "model.layers.1.mlp.up_proj"}));
  EXPECT_EQ(config["r"], 2);
  EXPECT_EQ(config["lora_alpha"], 1.5);
  EXPECT_EQ(config["rank_pattern"], Json({{"up_proj", 3}}));
  EXPECT_EQ(config["alpha_pattern"], Json::object());
}

// Two linear maps that are one in the Hugging Face layout.
struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Inner : axis<"inner"> {};
struct Vocab : axis<"vocab"> {};
struct Fused {
  static constexpr std::string_view kind = "Fused";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  nn::Embedding<Vocab, Embed> embed;
  nn::Linear<Embed, Inner> gate, up;
  nn::Linear<Inner, Embed> down;
  using fields = Fields<&Fused::embed, &Fused::gate, &Fused::up, &Fused::down>;
  Named<Batch, Pos, Embed> operator()(const Indices<Batch, Pos>& ids, const nn::Context&) const {
    const auto x = embed(ids);
    return down(gate(x) * up(x));
  }
  const Named<Vocab, Embed>& head() const { return embed.weight; }
  nn::ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
  nn::HfName hf_name(std::string_view path) const {
    return {path.starts_with("down") ? std::string(path) : "gate_up.weight"};
  }
};

TEST(PeftFused, MapsThatAreOneForPeftAreRefused) {
  const Dim<Embed> embed{4};
  const Dim<Inner> inner{6};
  const auto key = Key::from_seed(1);
  const auto fused = [&] {
    return nn::erase_type(Fused{nn::Embedding<Vocab, Embed>::init(Dim<Vocab>{9}, embed, key, 1),
                                nn::Linear<Embed, Inner>::init(embed, inner, key, 1),
                                nn::Linear<Embed, Inner>::init(embed, inner, key, 1),
                                nn::Linear<Inner, Embed>::init(inner, embed, key, 1)});
  };
  const auto model = fused();
  model->attach_adapters({{"gate", {}}, {"up", {}}}, key);
  const auto to = testing::TempDir() + "bora_peft_fused";
  constexpr const char* kProblem =
      "gate and up are one linear map for PEFT, gate_up, and would have one adapter";
  EXPECT_EQ(said([&] { save_peft(*model, to, "base"); }).words, to + ": " + kProblem);
  const auto other = fused();
  other->attach_adapters({{"down", {}}, {"up", {}}}, key);
  EXPECT_EQ(problem_for_peft(*other), "");
}

// Layer 1 of 2 has no experts.
TEST(PeftExperts, AdaptersThatPeftDropsAreRefused) {
  const auto config = models::model_config_from_hf(
      parse_json(
          R"({"model_type": "qwen3_moe", "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
                     "moe_intermediate_size": 6, "num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [1],
                     "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 20,
                     "max_position_embeddings": 8, "rms_norm_eps": 1e-6, "rope_theta": 100.0})",
          "config.json"),
      "config.json");
  const auto key = Key::from_seed(1);
  const auto model = models::make_model(*config, 20, key);
  model->attach_adapters({{"layers.0.self_attn.q_proj", {}}}, key);
  EXPECT_EQ(problem_for_peft(*model), "");
  const auto dense = models::make_model(*config, 20, key);
  dense->attach_adapters({{"layers.1.mlp.down_proj", {}}}, key);
  const auto to = testing::TempDir() + "bora_peft_experts";
  const auto [kind, words] = said([&] { save_peft(*dense, to, "base"); });
  EXPECT_EQ(kind, ErrorKind::Unsupported);
  EXPECT_EQ(
      words,
      to +
          ": PEFT takes gate_proj, up_proj and down_proj of a qwen3_moe for parts of its experts and would drop "
          "the adapter of layers.1.mlp.down_proj; export the merged model, or leave these maps alone "
          "(lora.exclude_modules)");
  EXPECT_FALSE(exists(to));
}

// A directory with tensors of its own.
class PeftFiles : public testing::Test {
 protected:
  PeftFiles() {
    remove_all(folder_);
    files().make_directories(folder_);
    write_atomically(folder_ + "/adapter_config.json", kPlain);
  }
  Said load(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& tensors) {
    static const std::vector<float> kValues(1000, 0.5F);
    std::vector<checkpoint::TensorSource> sources;
    for (const auto& [name, shape] : tensors) {
      std::size_t n = 1;
      for (const auto size : shape) n *= static_cast<std::size_t>(size);
      sources.push_back(checkpoint::tensor_of_floats("base_model.model.model.layers." + name,
                                                     core::DType::bf16, shape, std::span(kValues).first(n)));
    }
    checkpoint::write_safetensors(folder_ + "/adapter_model.safetensors", std::move(sources));
    return said([&] { load_peft(*small_model(), folder_); });
  }
  std::string folder_ = testing::TempDir() + "bora_peft_files";
};

TEST_F(PeftFiles, TensorsThatAreTheAdapters) {
  const auto done = load({{"0.self_attn.q_proj.lora_A.weight", {2, 8}},
                          {"0.self_attn.q_proj.lora_B.weight", {8, 2}},
                          {"1.self_attn.q_proj.lora_A.weight", {2, 8}},
                          {"1.self_attn.q_proj.lora_B.weight", {8, 2}}});
  EXPECT_EQ(done.words, "");
}

TEST_F(PeftFiles, MissingLeftOverAndMisshapenTensorsAreNamedAllAtOnce) {
  const auto [kind, words] = load({{"0.self_attn.q_proj.lora_A.weight", {2, 9}},
                                   {"0.self_attn.q_proj.lora_B.weight", {8, 2}},
                                   {"1.self_attn.q_proj.lora_A.weight", {2, 8}},
                                   {"1.self_attn.k_proj.lora_B.weight", {4, 2}}});
  EXPECT_EQ(kind, ErrorKind::Corruption);
  EXPECT_THAT(words, AllOf(HasSubstr(folder_ +
                                     "/adapter_model.safetensors: base_model.model.model.layers.0.self_attn."
                                     "q_proj.lora_A.weight is [2, 9] but should be [2, 8]"),
                           HasSubstr("layers.1.self_attn.q_proj.lora_B.weight is missing"),
                           HasSubstr("layers.1.self_attn.k_proj.lora_B.weight has no place in the adapter")));
}

TEST_F(PeftFiles, WhatIsNotThere) {
  EXPECT_THAT(said([&] { load_peft(*small_model(), folder_); }).words,
              HasSubstr("adapter_model.safetensors"));
  EXPECT_THAT(said([&] { load_peft(*small_model(), folder_ + "/none"); }).words,
              HasSubstr("none holds no adapter_config.json\nhint: give the directory of an adapter"));
  auto adapted = small_model();
  adapted->attach_adapters({{"layers.0.attn.q_proj", {}}}, Key{});
  EXPECT_THAT(said([&] { load_peft(*adapted, folder_); }).words, HasSubstr("the model has adapters already"));
  EXPECT_THAT(said([&] { save_peft(*small_model(), folder_ + "_out", "base"); }).words,
              HasSubstr("cannot be written: the model has no adapters"));
}

}  // namespace
}  // namespace bora::run
