// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Mixtures of experts: on several workers, and what their routers say.
#include <gtest/gtest.h>

#include "bora/checkpoint/hf_config.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/core/create.h"
#include "bora/core/grad.h"
#include "bora/core/mapping.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/models/mixtral.h"
#include "bora/nn/language_model_of.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"
#include "model_folders.h"

namespace bora::run {
namespace {

constexpr std::string_view kBatchNames[] = {"batch", "position"};

core::Array ids_of(std::int64_t rows, std::int64_t positions, std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < rows * positions; ++i)
    ids.push_back(static_cast<std::int32_t>(
        Key::from_seed(5).below(static_cast<std::uint64_t>(vocab), static_cast<std::uint64_t>(i))));
  const std::array<std::int64_t, 2> sizes{rows, positions};
  return core::from_data({kBatchNames, sizes}, std::span<const std::int32_t>(ids));
}

// The loss, then every gradient, whole.
std::vector<std::vector<float>> loss_and_gradients(nn::LanguageModel& model) {
  const auto ids = ids_of(2, 16, model.shape().vocab);
  const std::array<std::int64_t, 2> sizes{2, 16};
  const nn::TokenBatch batch{.ids = ids, .targets = ids, .weights = core::ones({kBatchNames, sizes})};
  auto parameters = model.parameters();
  std::vector<core::Array*> arrays;
  for (auto& p : parameters) arrays.push_back(p.array);
  const auto result =
      core::value_and_grad(arrays, [&] { return core::whole({model.objective(batch, {}, {}).loss, {}}); });
  std::vector<std::vector<float>> out{result.value.to_vector<float>()};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto gradient = result.gradients[i];
    core::sum_pending(*parameters[i].array, parameters[i].path, gradient);
    out.push_back(
        core::whole({core::like(*parameters[i].array, gradient), parameters[i].axes}).to_vector<float>());
  }
  return out;
}

class ExpertModels : public ModelFolderTest {};

// Not nearly: bit for bit.
TEST_P(ExpertModels, HaveTheSameGradientsForAnyNumberOfExpertWorkers) {
  const auto json = checkpoint::read_hf_config(folder());
  const auto vocab = models::vocab_size_from_hf(json, folder());
  const auto whole = load_model(folder());
  const auto want = loss_and_gradients(*whole);
  for (const int n : {2, 4}) {
    const auto errors = mesh::testing::run_workers({.count = n}, [&](mesh::Communicator& workers) {
      const auto loaded = load_run({}, {{"model.type", json_get<std::string>(json, "model_type", folder())},
                                        {"initialize_from_hf", folder()},
                                        {"use_hf_model_config", "true"},
                                        {"trainer.train_batch_size", "2"},
                                        {"trainer.mesh.axes", "{expert: " + std::to_string(n) + "}"}});
      PlacedModel model(loaded, mesh::testing::borrowed(workers), vocab);
      std::int64_t held = 0;
      for (const auto& p : model->parameters()) held += p.array->numel();
      EXPECT_LT(held, model.counts().all);
      const auto got = loss_and_gradients(*model);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i << " on " << n;
    });
    for (const auto& error : errors) EXPECT_EQ(error, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExpertModels,
                         testing::Values(BORA_SOURCE_DIR "/tests/parity/models/tiny-mixtral",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen2-moe",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen3-moe",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-olmoe",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt-oss",
                                         BORA_SHARED_DIR "/data/models/mixtral",
                                         BORA_SHARED_DIR "/data/models/qwen2-moe",
                                         BORA_SHARED_DIR "/data/models/qwen3-moe",
                                         BORA_SHARED_DIR "/data/models/gpt-oss"),
                         model_name);

TEST(Routers, SayWhatThoseOfHuggingFaceSay) {
  const std::string folder = BORA_SHARED_DIR "/data/models/mixtral";
  if (!exists(folder)) GTEST_SKIP() << "no further reference model at " << folder;
  const checkpoint::SafetensorsFile reference(folder + "/reference.safetensors");
  const auto model = load_model(folder);
  const auto& own = dynamic_cast<nn::LanguageModelOf<mixtral::Mixtral>&>(*model).model();
  const auto floats = reference.floats("hidden_states.0");
  const std::array<std::int64_t, 3> sizes{2, 24, own.config.hidden_dim};
  mixtral::Flow flow{from_array<mixtral::Batch, mixtral::Pos, mixtral::Embed>(core::from_data(
                         {mixtral::Hidden::axes::names, sizes}, std::span<const float>(floats))),
                     nn::RouterSums::none(Dim<nn::Candidate>{own.config.n_routed_experts})};
  for (std::size_t i = 0; i < own.layers.blocks.size(); ++i) {
    const auto& block = own.layers.blocks[i];
    const nn::Context context{.layer = static_cast<std::int64_t>(i)};
    const mixtral::Hidden h = flow.x + block.self_attn(block.input_layernorm(flow.x), context);
    const auto logits = block.mlp.gate(block.post_attention_layernorm(h)).to_vector();
    const auto want = reference.floats("router_logits." + std::to_string(i));
    ASSERT_EQ(logits.size(), want.size());
    for (std::size_t j = 0; j < want.size(); ++j) ASSERT_NEAR(logits[j], want[j], 5e-5) << i << ", " << j;
    flow = block(flow, context);
  }
}

}  // namespace
}  // namespace bora::run
