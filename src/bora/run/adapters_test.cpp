// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/adapters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/core/create.h"
#include "bora/models/add_model.h"
#include "bora/run/dry_run.h"
#include "bora/run/memory_estimate.h"
#include "bora/run/shape_model.h"
#include "bora/run/sharding_plan.h"

namespace bora::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kVocab = 50;

const std::string kModel =
    "{type: llama, hidden_dim: 16, intermediate_dim: 24, num_layers: 2, num_heads: 4, "
    "num_kv_heads: 2, seq_len: 8}";
const std::string kGpt2 = "{type: gpt2, hidden_dim: 16, num_layers: 2, num_heads: 4, seq_len: 8}";

LoadedConfig load(const std::string& text) {
  const auto path = testing::TempDir() + "bora_adapters.yaml";
  write_atomically(path, "data: {train_urls: [a.txt], vocab_size: 50}\n" + text);
  return load_config({path}, {});
}
LmConfig with_lora(const std::string& lora, const std::string& model = kModel) {
  return load("model: " + model + "\ninitialize_from_hf: base\nlora: " + lora + "\n").config;
}

std::vector<std::string> adapted(const LmConfig& config) {
  std::vector<std::string> out;
  with_shape_model(config, kVocab, [&](auto& model) {
    for (const auto& map : model.linear_maps())
      if (map.adapter) out.push_back(map.path);
  });
  return out;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Config);
    return e.what();
  }
  return "";
}

TEST(Lora, TargetsByTheirNamesHereAndAtHuggingFace) {
  EXPECT_THAT(adapted(with_lora("{target_modules: [q_proj]}")),
              ElementsAre("layers.0.attn.q_proj", "layers.1.attn.q_proj"));
  EXPECT_THAT(adapted(with_lora("{target_modules: [layers.0.self_attn.o_proj, \"layers.1.*.down_proj\"]}")),
              ElementsAre("layers.0.attn.o_proj", "layers.1.mlp.down_proj"));
  EXPECT_THAT(adapted(with_lora(R"({target_modules: ".*layers\\.1\\..*(up|gate)_proj"})")),
              ElementsAre("layers.1.mlp.gate_proj", "layers.1.mlp.up_proj"));
  EXPECT_EQ(adapted(with_lora("{}")).size(), 14U) << "all but the head";
  EXPECT_EQ(adapted(with_lora("{target_modules: all-linear, exclude_modules: [k_proj, lm_head]}")).size(),
            12U);
  EXPECT_THAT(adapted(with_lora("{target_modules: [c_attn]}", kGpt2)),
              ElementsAre("h.0.attn.c_attn", "h.1.attn.c_attn"));
  EXPECT_THAT(adapted(with_lora("{target_modules: [c_fc]}", kGpt2)),
              ElementsAre("h.0.mlp.up_proj", "h.1.mlp.up_proj"));
}

TEST(Lora, WrongTargetsAreToldTogether) {
  EXPECT_EQ(
      error_of(
          [] { adapted(with_lora("{target_modules: [q_prj, lm_head, v_proj], exclude_modules: [x]}")); }),
      "lora.target_modules: q_prj is no linear map; did you mean `q_proj`?\n"
      "lora.exclude_modules: x is no linear map; the first one is layers.0.attn.q_proj\n"
      "lora.target_modules: lm_head is the head, of which the loss uses the weight alone: an adapter would "
      "do nothing; exclude_modules leaves it alone");
  EXPECT_EQ(error_of([] { adapted(with_lora("{target_modules: q_proj}")); }),
            "lora.target_modules: q_proj matches none of 15 linear maps; the first one is "
            "model.layers.0.self_attn.q_proj");
  EXPECT_EQ(error_of([] { adapted(with_lora("{target_modules: [q_proj], exclude_modules: [q_proj]}")); }),
            "lora.target_modules: no linear map is left");
}

TEST(Lora, ModelsOfSpeechTakeNone) {
  for (const char* lora : {"{}", "{target_modules: [q_proj]}"})
    EXPECT_EQ(
        error_of([&] { adapted(with_lora(lora, "{type: whisper}")); }),
        "lora: a model of speech (whisper) takes no adapters\nhint: leave lora out; trainer.freeze trains a "
        "part of it");
}

TEST(Lora, ItsKeysAreChecked) {
  const auto problems = error_of([] {
    load("model: " + kModel + "\nlora: {r: 0, alpha: 0, dropout: 1, target_modules: \"(\", rank: 3}\n");
  });
  for (const char* words : {"lora.r = 0", "lora.alpha = 0", "lora.dropout = 1", "is no regular expression",
                            "lora.rank", "needs a model to adapt"})
    EXPECT_THAT(problems, HasSubstr(words));
  EXPECT_THAT(error_of([] { load("peft_save_path: a\nmerged_hf_save_path: b\n"); }),
              testing::AllOf(HasSubstr("needs lora; lora: {} has every default"),
                             HasSubstr("without it: hf_save_path")));
  EXPECT_THAT(error_of([] { load("max_train_length: 9\n"); }),
              HasSubstr("needs lora; without it: model.seq_len"));
  EXPECT_THAT(error_of([] { load("lora: {}\ntrainer: {initialize_from: a}\nmax_train_length: 9000\n"); }),
              HasSubstr("max_train_length = 9000  is longer than the model's sequences of "));
  EXPECT_THAT(error_of([] {
                load("lora: {}\ntrainer: {initialize_from: a}\nmax_train_length: 9\nmodel: {type: gpt2}\n");
              }),
              HasSubstr("learns its 1024 positions one by one"));
}

// Levanter's program for adapters has defaults for all of them, and takes the model's sizes from its weights.
TEST(Lora, IsImpliedWhereLevanterImpliesIt) {
  const auto config = load("initialize_from_hf: base\npeft_save_path: a\n").config;
  ASSERT_TRUE(config.lora);
  EXPECT_EQ(config.lora->shape, LoraConfig().shape);
  EXPECT_TRUE(config.use_hf_model_config);
  EXPECT_EQ(config.hf_save_steps, 1000);
  EXPECT_FALSE(load("initialize_from_hf: base\nmodel: {type: gpt2}\n").config.lora);
  const auto shorter = load("lora: {}\ntrainer: {initialize_from: a}\nmax_train_length: 9\n").config;
  EXPECT_EQ(shorter.model.config->seq_len(), 9);
}

TEST(Lora, LevantersKeys) {
  const auto config = load(
                          "lora: {target_modules: [q_proj], r: 4, alpha: 16.0, dropout: 0.1}\n"
                          "initialize_from_hf: base\npeft_save_path: a\nmerged_hf_save_path: b\n"
                          "peft_hf_upload: x/y\nmerged_hf_upload: x/z\n")
                          .config;
  EXPECT_EQ(config.lora->shape, (nn::LoraShape{.rank = 4, .alpha = 16, .dropout = 0.1}));
  EXPECT_EQ(config.peft_save_path, "a");
  EXPECT_EQ(config.hf_save_path, "b");
  EXPECT_EQ(config.hf_save_steps, 1000);
  // What is written is read again.
  auto changed = config;
  const auto path = testing::TempDir() + "bora_adapters_again.yaml";
  write_atomically(path, write_config(changed));
  auto again = load_config({path}, {}).config;
  EXPECT_EQ(write_config(again), write_config(changed));
}

TEST(Lora, TrainsTheAdaptersAndNoMore) {
  const auto config = with_lora("{target_modules: [q_proj], r: 4}");
  const auto counts = count_parameters(config, kVocab);
  EXPECT_EQ(counts.trained, 2 * 4 * (16 + 16));
  const auto plain = load("model: " + kModel + "\n").config;
  EXPECT_EQ(counts.all, count_parameters(plain, kVocab).all + counts.trained);
  EXPECT_EQ(count_parameters(plain, kVocab).trained, count_parameters(plain, kVocab).all);
}

TEST(Lora, FreezesOnTop) {
  auto config = with_lora("{target_modules: [q_proj], r: 4}");
  config.trainer.freeze = {"layers.0"};
  EXPECT_EQ(count_parameters(config, kVocab).trained, 4 * (16 + 16));
  config.trainer.freeze = {"layers"};
  EXPECT_THAT(error_of([&] { count_parameters(config, kVocab); }),
              HasSubstr("trainer.freeze: layers selects all 25 parameters that lora leaves"));
}

// Gradients and moments are of what is trained, a checkpoint has the values of all.
TEST(Lora, MemoryOfWhatIsTrained) {
  auto config = with_lora("{target_modules: [q_proj], r: 4}");
  const auto counts = count_parameters(config, kVocab);
  const auto of = [&](std::optional<ParameterCounts> n) {
    return estimate_sizes(*config.model.config, {.vocab = kVocab, .batch = 4, .lanes = 2, .parameters = n});
  };
  const auto lora = of(counts), whole = of(std::nullopt);
  EXPECT_EQ(lora.parameter_bytes, 4.0 * static_cast<double>(counts.all));
  EXPECT_EQ(lora.gradient_bytes, 8.0 * static_cast<double>(counts.trained));
  EXPECT_EQ(lora.optimizer_bytes, 8.0 * static_cast<double>(counts.trained));
  EXPECT_EQ(lora.checkpoint_bytes,
            4.0 * static_cast<double>(counts.all) + 8.0 * static_cast<double>(counts.trained));
  EXPECT_EQ(whole.optimizer_bytes, 8.0 * static_cast<double>(whole.parameters.all));
  EXPECT_LT(lora.training(), whole.training());

  config.lora.reset();
  config.trainer.freeze = {"embed_tokens", "layers.0"};
  const auto frozen = of(count_parameters(config, kVocab));
  EXPECT_EQ(frozen.parameters.all, whole.parameters.all);
  EXPECT_LT(frozen.optimizer_bytes, 0.7 * whole.optimizer_bytes);
}

TEST(Lora, SharesOfWorkersHoldMomentsOfWhatIsTrained) {
  auto config = with_lora("{target_modules: [q_proj], r: 4}");
  const auto shares = plan_of(config, 2).shares;
  double parameters = 0, gradients = 0, optimizer = 0;
  for (const auto& share : shares) {
    parameters += share.parameters;
    gradients += share.gradients;
    optimizer += share.optimizer;
  }
  const auto counts = count_parameters(config, kVocab);
  // A [lora_rank, embed] is cut over both workers, B [kv_head, ..., lora_rank] is whole on each.
  EXPECT_EQ(optimizer, 8.0 * 1.5 * static_cast<double>(counts.trained));
  EXPECT_GE(parameters, 4.0 * static_cast<double>(counts.all));
  EXPECT_LT(gradients, 0.2 * parameters);
}

std::unique_ptr<nn::LanguageModel> stirred(const LmConfig& config) {
  auto model = models::make_model(*config.model.config, kVocab, Key::from_seed(1));
  choose_trained(*model, config);
  for (auto& p : model->parameters())
    if (p.trainable)
      *p.array = core::random_normal(Key::from_seed(2).fold(p.path), {p.axes, p.array->sizes()}, 0, 1);
  return model;
}

TEST(Lora, MergedValuesAreThoseOfTheMergedModel) {
  for (const auto& base : {kModel, kGpt2}) {
    const auto model = stirred(with_lora("{r: 3, alpha: 5, use_rslora: true}", base));
    const auto value = merged_values(*model);
    std::map<std::string, std::vector<float>> merged;
    for (const auto& p : model->parameters())
      if (p.role != core::Role::adapter) merged[p.path] = value({p, "", false}).to_vector<float>();
    model->merge_adapters();
    ASSERT_EQ(model->parameters().size(), merged.size());
    for (const auto& p : model->parameters())
      EXPECT_EQ(p.array->to_vector<float>(), merged.at(p.path)) << p.path;
  }
}

TEST(Lora, ARecordMakesTheSameAdapters) {
  const auto config = with_lora("{target_modules: [q_proj, up_proj], r: 3, alpha: 5, dropout: 0.1}");
  const auto model = stirred(config);
  const auto record = record_of_adapters(*model);
  EXPECT_EQ(describe_adapters(record), "of 4 linear maps, rank 3, alpha 5, dropout 0.1");
  auto plain = models::make_model(*config.model.config, kVocab, Key::from_seed(1));
  EXPECT_TRUE(record_of_adapters(*plain).is_null());
  attach_recorded(*plain, record, "state.json");
  EXPECT_EQ(record_of_adapters(*plain), record);
  auto dropped = record;
  dropped["layers.0.attn.q_proj"]["dropout"] = 0;
  EXPECT_TRUE(same_adapters(record, dropped));
  dropped["layers.0.attn.q_proj"]["alpha"] = 6;
  EXPECT_FALSE(same_adapters(record, dropped));
  EXPECT_FALSE(same_adapters(record, Json()));
}

TEST(Lora, BrokenRecords) {
  const auto config = with_lora("{}");
  const auto says = [&](const char* record) -> std::string {
    auto model = models::make_model(*config.model.config, kVocab, Key::from_seed(1));
    try {
      attach_recorded(*model, parse_json(record, "record"), "state.json");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Corruption);
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(says("[1]"), HasSubstr("state.json: lora should be a map"));
  EXPECT_THAT(says(R"({"x": {}})"), HasSubstr("state.json: lora.x is no linear map of the model"));
  const auto with = [](const char* r, const char* dropout) {
    return fmt::format(
        R"({{"layers.0.attn.q_proj": {{"r": {}, "alpha": 1, "rank_stabilized": false, "dropout": {}}}}})", r,
        dropout);
  };
  EXPECT_EQ(says(with("1", "0").c_str()), "");
  EXPECT_THAT(says(with("0", "0").c_str()), HasSubstr("lora.layers.0.attn.q_proj: r is 0"));
  EXPECT_THAT(says(with("1", "1").c_str()), HasSubstr("dropout is 1"));
  EXPECT_THAT(says(with("\"x\"", "0").c_str()), HasSubstr("r should be an integer"));
}

}  // namespace
}  // namespace bora::run
