// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a Backpack has that other models have not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/checkpoint/hugging_face.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/checkpoint/safetensors_writer.h"
#include "bora/models/add_model.h"
#include "bora/run/forward.h"
#include "bora/run/models.h"
#include "bora/run/senses.h"

namespace bora::run {
namespace {

using testing::HasSubstr;

const std::string kBackpack = BORA_SOURCE_DIR "/tests/parity/models/tiny-backpack";
const std::vector<std::int32_t> kIds = {9, 8, 14, 6, 7, 18};

std::unique_ptr<nn::LanguageModel> dividing_model() {
  auto json = checkpoint::read_hf_config(kBackpack);
  json["divide_by_senses"] = true;
  const auto config = models::model_config_from_hf(json, kBackpack);
  auto model = models::make_model(*config, models::vocab_size_from_hf(json, kBackpack), Key{});
  checkpoint::load_hugging_face(kBackpack, hf_parameters(*model));
  return model;
}

TEST(Backpack, DividesByTheNumberOfSensesWhereAsked) {
  const auto sums = forward(*load_model(kBackpack), kIds, 1, 6, {}).at("logits").values;
  const auto model = dividing_model();
  EXPECT_TRUE(model->hf_config()["divide_by_senses"]);
  const auto means = forward(*model, kIds, 1, 6, {}).at("logits").values;
  ASSERT_EQ(sums.size(), means.size());
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], 3 * means[i], 1e-5);
}

// At a text's first position every sense of its token has the weight 1.
TEST(Backpack, SensesOfATokenAddUpToItsLogits) {
  for (const bool divides : {false, true}) {
    const auto model = divides ? dividing_model() : load_model(kBackpack);
    const auto logits = forward(*model, kIds, 1, 6, {}).at("logits").values;
    std::vector<double> sums(24);
    const auto senses = predictions_of_senses(*model, kIds[0], 100);
    EXPECT_EQ(senses.size(), 3U);
    for (const auto& sense : senses) {
      ASSERT_EQ(sense.size(), sums.size());
      for (std::size_t i = 1; i < sense.size(); ++i) EXPECT_GE(sense[i - 1].logit, sense[i].logit);
      for (const auto& p : sense) sums.at(static_cast<std::size_t>(p.id)) += double{p.logit};
    }
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], logits[i], 1e-5);
    EXPECT_EQ(predictions_of_senses(*model, kIds[0], 2)[1].size(), 2U);
    EXPECT_EQ(predictions_of_senses(*model, kIds[0], 2)[1][1].id, senses[1][1].id);
  }
}

// The published files name the embeddings twice.
TEST(Backpack, ReadsFilesThatRepeatTheEmbeddings) {
  const auto to = testing::TempDir() + "bora_backpack_repeated";
  remove_all(to);
  files().make_directories(to);
  write_atomically(to + "/config.json", read_text(kBackpack + "/config.json"));
  const checkpoint::SafetensorsFile file(kBackpack + "/model.safetensors");
  std::vector<std::vector<float>> kept;
  kept.reserve(file.tensors().size() + 3);
  std::vector<checkpoint::TensorSource> sources;
  const auto add = [&](const std::string& name, const std::string& from) {
    kept.push_back(file.floats(from));
    sources.push_back(checkpoint::tensor_of_floats(name, core::DType::f32, file.at(from).shape, kept.back()));
  };
  for (const auto& t : file.tensors()) add(t.name, t.name);
  add("backpack.word_embeddings.weight", "backpack.gpt2_model.wte.weight");
  add("backpack.position_embeddings.weight", "backpack.gpt2_model.wpe.weight");
  add("lm_head.weight", "backpack.gpt2_model.wte.weight");
  checkpoint::write_safetensors(to + "/model.safetensors", sources);
  EXPECT_EQ(forward(*load_model(to), kIds, 1, 6, {}).at("logits").values,
            forward(*load_model(kBackpack), kIds, 1, 6, {}).at("logits").values);
}

TEST(Backpack, OtherModelsHaveNoSenses) {
  const auto refusal = [](const std::string& folder, std::int32_t id) {
    try {
      predictions_of_senses(*load_model(BORA_SOURCE_DIR "/tests/parity/models/" + folder), id, 1);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("tiny-gpt2", 1), HasSubstr("a model of type gpt2 has no sense vectors"));
  EXPECT_THAT(refusal("tiny-backpack", 24), HasSubstr("token 24, but the model has ids from 0 to 23"));
}

}  // namespace
}  // namespace bora::run
