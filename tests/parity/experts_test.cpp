// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Mixtures of experts: on several workers, and what their routers say.
#include <gtest/gtest.h>

#include <mutex>
#include <numeric>

#include "bora/checkpoint/hf_config.h"
#include "bora/checkpoint/safetensors.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/models/mixtral.h"
#include "bora/nn/language_model.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"
#include "bora/train/reduction.h"
#include "model_folders.h"

namespace bora::run {
namespace {

constexpr std::string_view kBatchNames[] = {"batch", "position"};

core::Array ids_of(std::int64_t lane, std::int64_t positions, std::int64_t vocab) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < positions; ++i)
    ids.push_back(static_cast<std::int32_t>(
        Key::from_seed(5 + static_cast<std::uint64_t>(lane))
            .below(static_cast<std::uint64_t>(vocab), static_cast<std::uint64_t>(i))));
  const std::array<std::int64_t, 2> sizes{1, positions};
  return core::from_data({kBatchNames, sizes}, std::span<const std::int32_t>(ids));
}

constexpr std::int64_t kLanes = 4;

// The loss of a step of lanes, then every gradient, whole.
std::vector<std::vector<float>> loss_and_gradients(PlacedModel& model) {
  auto& lanes = *model.mesh().lanes();
  const auto reducer =
      train::make_reducer("fixed", mesh::testing::borrowed(lanes), model->parameters(), model.sharded());
  const std::array<std::int64_t, 2> sizes{1, 16};
  const auto sum = reducer->reduce(kLanes, [&](std::int64_t lane) {
    const auto ids = ids_of(lane, 16, model->shape().vocab);
    auto result =
        model->objective({.ids = ids, .targets = ids, .weights = core::ones({kBatchNames, sizes})}, {}, {});
    return mesh::LaneLoss{core::whole({result.loss, {}}), result.weight};
  });
  std::vector<std::size_t> which(sum.arrays.size());
  std::iota(which.begin(), which.end(), std::size_t{0});
  std::vector<std::vector<float>> out(which.size());
  reducer->whole_arrays().transform(
      which, [&](std::size_t i) { return sum.arrays[i]; },
      [&](std::size_t i, const core::Array& whole) {
        out[i] = whole.to_vector<float>();
        return whole;
      },
      [](std::size_t, const core::Array&) {});
  out.push_back({static_cast<float>(sum.scalars[0])});
  return out;
}

// Of each array, what some worker has had whole; all that had it must agree.
class Together {
 public:
  void add(const std::vector<std::vector<float>>& some) {
    const std::lock_guard lock(mutex_);
    all_.resize(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (some[i].empty()) continue;
      if (!all_[i].empty()) {
        EXPECT_EQ(some[i], all_[i]) << i;
      }
      all_[i] = some[i];
    }
  }
  const std::vector<std::vector<float>>& all() const { return all_; }

 private:
  std::mutex mutex_;
  std::vector<std::vector<float>> all_;
};

class ExpertModels : public ModelFolderTest {
 protected:
  std::vector<std::vector<float>> on(int workers, const std::string& axes) const {
    const auto json = checkpoint::read_hf_config(folder());
    const auto vocab = models::vocab_size_from_hf(json, folder());
    Together out;
    const auto errors = mesh::testing::run_workers({.count = workers}, [&](mesh::Communicator& c) {
      const auto loaded = load_run({}, {{"model.type", json_get<std::string>(json, "model_type", folder())},
                                        {"initialize_from_hf", folder()},
                                        {"use_hf_model_config", "true"},
                                        {"trainer.train_batch_size", "4"},
                                        {"trainer.mesh.axes", axes}});
      PlacedModel model(loaded, mesh::testing::borrowed(c), vocab);
      std::int64_t held = 0;
      for (const auto& p : model.parameters()) held += p.array->numel();
      if (workers > 1) {
        EXPECT_LT(held, model.counts().all);
      }
      out.add(loss_and_gradients(model));
    });
    for (const auto& error : errors) EXPECT_EQ(error, "") << axes;
    return out.all();
  }
};

void expect_equal(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& want,
                  const std::string& on) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i << " on " << on;
}

// Not nearly: bit for bit.
TEST_P(ExpertModels, HaveTheSameGradientsForAnyNumberOfExpertWorkers) {
  const auto one = on(1, "{}");
  expect_equal(on(2, "{expert: 2}"), one, "expert 2");
  expect_equal(on(4, "{expert: 4}"), one, "expert 4");
  expect_equal(on(4, "{data: 2, expert: 2}"), one, "data 2, expert 2");
  expect_equal(on(4, "{replica: 2, expert: 2}"), one, "replica 2, expert 2");
  expect_equal(on(4, "{expert: 2, model: 2}"), on(2, "{model: 2}"), "expert 2, model 2");
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
