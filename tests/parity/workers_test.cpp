// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every tiny reference model on two workers, of which each holds a part of it: logits, loss and the gradient of
// every parameter are those of one worker, which models_test.cpp compares with Hugging Face.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>

#include "bora/base/file.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/core/mapping.h"
#include "bora/core/parameter_store.h"
#include "bora/data/loader.h"
#include "bora/infer/generate.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/nn/speech_model.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"
#include "bora/train/lanes.h"
#include "bora/train/reduction.h"
#include "model_folders.h"

namespace bora::run {
namespace {

constexpr std::int64_t kRows = 2, kPositions = 16;

data::Batch batch_of(const nn::LanguageModel& model) {
  const auto positions = static_cast<std::uint64_t>(std::min(kPositions, model.shape().seq_len));
  data::Batch out{.sequences = kRows, .seq_len = static_cast<std::int64_t>(positions)};
  const auto key = Key::from_seed(7);
  for (std::uint64_t i = 0; i < kRows * positions; ++i) {
    out.tokens.push_back(
        static_cast<std::int32_t>(key.below(static_cast<std::uint64_t>(model.shape().vocab), i)));
    out.loss_weights.push_back((i + 1) % positions == 0 ? 0 : 1);
  }
  data::set_next_token_targets(out);
  if (const auto* speech = dynamic_cast<const nn::SpeechModel*>(&model)) {
    out.sound = {speech->shape().mel_bins, speech->shape().frames};
    for (std::uint64_t i = 0; std::ssize(out.features) < kRows * out.sound.size(); ++i)
      out.features.push_back(static_cast<float>(key.fold("sound").below(2000, i)) / 1000 - 1);
  }
  return out;
}

struct Computed {
  std::vector<float> logits;
  double loss = 0;
  std::map<std::size_t, std::vector<float>> gradients;  // whole, by place among the trained parameters
};

// One step's loss and gradients, of `lanes` lanes. `out.gradients` gets those that this worker puts together.
void compute(nn::LanguageModel& model, mesh::GradientReducer& reducer, std::int64_t lanes, Computed& out,
             std::mutex& mutex) {
  const auto batch = batch_of(model);
  const auto sum = reducer.reduce(lanes, [&](std::int64_t lane) {
    auto result =
        model.objective(train::token_batch(batch, lane * kRows / lanes, kRows / lanes), std::nullopt, {});
    return mesh::LaneLoss{std::move(result.loss), result.weight};
  });
  std::vector<std::size_t> all(sum.arrays.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  reducer.whole_arrays().transform(
      all, [&](std::size_t i) { return sum.arrays[i]; },
      [&](std::size_t i, const core::Array& whole) {
        const std::lock_guard lock(mutex);
        out.gradients[i] = whole.to_vector<float>();
        return whole;
      },
      [](std::size_t, const core::Array&) {});
  const std::lock_guard lock(mutex);
  out.loss = sum.scalars[0] / sum.scalars[1];
}

std::vector<float> logits_of(const nn::LanguageModel& model) {
  constexpr std::array<std::string_view, 3> names{"batch", "position", "vocab"};
  const auto batch = train::token_batch(batch_of(model), 0, kRows);
  const auto* speech = dynamic_cast<const nn::SpeechModel*>(&model);
  const auto logits = speech == nullptr
                          ? model.logits(batch.ids, {})
                          : speech->logits(batch.ids, speech->hear(speech->encode(batch.features, {})), {});
  return core::whole({logits, names}).to_vector<float>();
}

Computed on_one_worker(const std::string& folder, std::int64_t lanes) {
  const auto model = load_model(folder);
  const auto reducer =
      train::make_reducer("tree", mesh::make_self_communicator(), model->parameters(), nullptr);
  Computed out{.logits = logits_of(*model)};
  std::mutex mutex;
  compute(*model, *reducer, lanes, out, mutex);
  return out;
}

// The axes of this model that two workers can have a half of.
std::string axes_in_halves(const nn::ModelShape& shape) {
  return shape.kv_heads % 2 == 0 ? "[heads, mlp, vocab]" : "[mlp, vocab]";
}

struct Way {
  const char* name;
  std::vector<std::pair<std::string, std::string>> settings;
  std::int64_t lanes;
};

Computed on_two_workers(const std::string& folder, const Way& way) {
  const auto json = checkpoint::read_hf_config(folder);
  const auto config = models::model_config_from_hf(json, folder);
  const auto vocab = models::vocab_size_from_hf(json, folder);
  Computed out;
  std::mutex mutex;
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& workers) {
    std::vector<std::pair<std::string, std::string>> settings{
        {"model.type", config->type()},
        {"initialize_from_hf", folder},
        {"use_hf_model_config", "true"},
        {"trainer.train_batch_size", "2"},
        {"trainer.tensor_parallel_axes", axes_in_halves(config->shape(vocab))}};
    settings.insert(settings.end(), way.settings.begin(), way.settings.end());
    const auto loaded = load_run({}, settings);
    PlacedModel model(loaded, mesh::testing::borrowed(workers), vocab);
    std::int64_t held = 0;
    for (const auto& p : model.parameters()) held += p.array->numel();
    EXPECT_LT(held, model.counts().all * 9 / 10) << way.name;
    model.with_whole_positions([&] {
      auto logits = logits_of(*model);
      const std::lock_guard lock(mutex);
      if (out.logits.empty()) out.logits = logits;
      EXPECT_EQ(logits, out.logits) << way.name;
    });
    const auto reducer =
        train::make_reducer("tree", model.mesh().lanes(), model->parameters(), model.sharded());
    compute(*model, *reducer, way.lanes, out, mutex);
  });
  for (const auto& error : errors) EXPECT_EQ(error, "") << way.name;
  return out;
}

// ||got - want|| / ||want||
double distance(const std::vector<float>& got, const std::vector<float>& want) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(double{got[i]} - want[i], 2);
    size += std::pow(want[i], 2);
  }
  return size == 0 ? std::sqrt(difference) : std::sqrt(difference / size);
}

void expect_near(const Computed& got, const Computed& want, double limit) {
  ASSERT_EQ(got.logits.size(), want.logits.size());
  EXPECT_LE(distance(got.logits, want.logits), limit);
  EXPECT_NEAR(got.loss, want.loss, 2e-6);
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (const auto& [i, values] : want.gradients) {
    ASSERT_EQ(got.gradients.at(i).size(), values.size()) << i;
    EXPECT_LE(distance(got.gradients.at(i), values), limit) << "parameter " << i;
  }
}

class OnTwoWorkers : public ModelFolderTest {};

TEST_P(OnTwoWorkers, FullyShardedHasTheSameBits) {
  const auto want = on_one_worker(folder(), 2);
  const auto got = on_two_workers(folder(), {.name = "fsdp", .settings = {}, .lanes = 2});
  EXPECT_EQ(got.logits, want.logits);
  EXPECT_EQ(got.loss, want.loss);
  EXPECT_EQ(got.gradients, want.gradients);
}

TEST_P(OnTwoWorkers, TensorParallel) {
  const auto want = on_one_worker(folder(), 1);
  const Way way{.name = "model", .settings = {{"trainer.model_axis_size", "2"}}, .lanes = 1};
  expect_near(on_two_workers(folder(), way), want, 1e-5);
}

// Sequences beyond the original context, whose angles follow from the length of the whole one.
TEST(OnTwoWorkersWithDynamicRope, ShardedAndTensorParallel) {
  const std::string from = BORA_SOURCE_DIR "/tests/parity/models/tiny-llama-tied";
  const auto folder = testing::TempDir() + "bora_workers_dynamic";
  files().make_directories(folder);
  auto json = checkpoint::read_hf_config(from);
  json["max_position_embeddings"] = kPositions / 2;
  json["rope_scaling"] = {{"rope_type", "dynamic"}, {"factor", 4}};
  write_atomically(folder + "/config.json", json.dump());
  write_atomically(folder + "/model.safetensors", read_text(from + "/model.safetensors"));
  const auto whole = on_one_worker(folder, 2);
  EXPECT_NE(whole.logits, on_one_worker(from, 2).logits);
  const auto sharded = on_two_workers(folder, {.name = "fsdp", .settings = {}, .lanes = 2});
  EXPECT_EQ(sharded.logits, whole.logits);
  EXPECT_EQ(sharded.gradients, whole.gradients);
  const Way way{.name = "model", .settings = {{"trainer.model_axis_size", "2"}}, .lanes = 1};
  expect_near(on_two_workers(folder, way), on_one_worker(folder, 1), 1e-5);
}

// Text is drawn by all workers together, block after block of the model: as in a step of training, no worker has
// more whole parameters than those of two blocks and what is not in any, the next one's on their way included.
TEST(SamplesOnTwoWorkers, NeedNoWholeModel) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& workers) {
    const auto loaded = load_run({}, {{"model.type", "llama"},
                                      {"model.num_layers", "12"},
                                      {"model.hidden_dim", "16"},
                                      {"model.intermediate_dim", "32"},
                                      {"model.num_heads", "2"},
                                      {"model.num_kv_heads", "2"},
                                      {"model.seq_len", "32"},
                                      {"trainer.train_batch_size", "2"}});
    PlacedModel model(loaded, mesh::testing::borrowed(workers), 48);
    ASSERT_NE(model.sharded(), nullptr);
    std::size_t all = 0, most = 0, looks = 0;
    const auto look = [&] {
      std::size_t whole = 0;
      for (const auto& p : model->parameters())
        if (p.path.find("layers") != p.path.npos && core::values_present(*p.array)) ++whole;
      most = std::max(most, whole);
      ++looks;
    };
    for (const auto& p : model->parameters()) all += p.path.find("layers") != p.path.npos ? 1 : 0;
    const std::function<void(std::int64_t, const core::Array&)> probe = [&](std::int64_t,
                                                                            const core::Array&) { look(); };
    nn::Context context;
    context.probe = &probe;
    model.with_whole_positions([&] {
      const auto batch = train::token_batch(batch_of(*model), 0, kRows);
      static_cast<void>(model->logits(batch.ids, context));
      const infer::Request request{{1, 2, 3}, {.max_new_tokens = 5}};
      static_cast<void>(infer::generate(*model, std::vector{request}, [&](std::size_t, std::int32_t) {
        look();
        return true;
      }));
    });
    EXPECT_GT(looks, 12U + 4U);
    EXPECT_GT(all, 100U);
    EXPECT_GT(most, 0U);
    EXPECT_LE(most, all / 4);
  });
  for (const auto& error : errors) EXPECT_EQ(error, "");
}

INSTANTIATE_TEST_SUITE_P(Models, OnTwoWorkers, testing::ValuesIn(model_folders()), model_name);
INSTANTIATE_TEST_SUITE_P(Speech, OnTwoWorkers,
                         testing::Values(BORA_SOURCE_DIR "/tests/parity/speech/tiny-whisper",
                                         BORA_SHARED_DIR "/data/models/whisper"),
                         model_name);

}  // namespace
}  // namespace bora::run
