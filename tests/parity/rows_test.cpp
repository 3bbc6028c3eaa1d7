// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Rows of a cache, each with a length of its own, read on together: bit for bit what each gets alone.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <string_view>

#include "bora/base/json.h"
#include "bora/base/key.h"
#include "bora/checkpoint/hf_config.h"
#include "bora/core/create.h"
#include "bora/core/mapping.h"
#include "bora/infer/generate.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/models/model_types.h"
#include "bora/nn/kv_cache.h"
#include "bora/nn/stored_weights.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"
#include "model_folders.h"

namespace bora::run {
namespace {

using Ids = std::vector<std::int32_t>;
constexpr std::int64_t kLengths[] = {1, 5, 17};  // of prompts: around the window of tiny-gemma2, which is 5
constexpr std::int64_t kSteps = 6;

Ids ids_of(const nn::LanguageModel& model, std::uint64_t row, std::int64_t n) {
  Ids out;
  const auto key = Key::from_seed(row);
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<std::int32_t>(
        key.below(static_cast<std::uint64_t>(model.shape().vocab), static_cast<std::uint64_t>(i))));
  return out;
}

// Logits of the last position of each row.
std::vector<float> read(const nn::LanguageModel& model, nn::CachePass pass, const Ids& ids) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  constexpr std::array<std::string_view, 3> out{"batch", "position", "vocab"};
  const std::array<std::int64_t, 2> sizes{pass.rows(), std::ssize(ids) / pass.rows()};
  const auto batch = core::from_data({names, sizes}, std::span<const std::int32_t>(ids));
  return core::whole({model.logits(batch, {.cache = &pass}), out}).to_vector<float>();
}

// The logits of every step of every row.
std::vector<float> steps_together(const nn::LanguageModel& model) {
  nn::KvCache cache(model.shape().layers, {30, 30, 30});
  std::vector<Ids> ids;
  std::vector<std::vector<float>> out(3);
  for (std::int64_t row = 0; row < 3; ++row) {
    ids.push_back(ids_of(model, static_cast<std::uint64_t>(row), kLengths[row] + kSteps));
    out[row] = read(model, {cache, {row}}, {ids[row].begin(), ids[row].begin() + kLengths[row]});
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    Ids next;
    for (std::size_t row = 0; row < 3; ++row)
      next.push_back(ids[row][static_cast<std::size_t>(kLengths[row] + step)]);
    const auto logits = read(model, {cache, {0, 1, 2}}, next);
    const auto each = static_cast<std::ptrdiff_t>(logits.size() / 3);
    for (std::ptrdiff_t row = 0; row < 3; ++row)
      out[row].insert(out[row].end(), logits.begin() + row * each, logits.begin() + (row + 1) * each);
  }
  std::vector<float> all;
  for (const auto& row : out) all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::vector<float> steps_alone(const nn::LanguageModel& model) {
  std::vector<float> all;
  for (std::uint64_t row = 0; row < 3; ++row) {
    nn::KvCache cache(model.shape().layers, {30});
    const auto ids = ids_of(model, row, kLengths[row] + kSteps);
    for (std::int64_t from = 0, n = kLengths[row]; from < std::ssize(ids); from += n, n = 1) {
      const auto logits = read(model, {cache, {0}}, {ids.begin() + from, ids.begin() + from + n});
      all.insert(all.end(), logits.begin(), logits.end());
    }
  }
  return all;
}

std::vector<infer::Request> requests(const nn::LanguageModel& model) {
  std::vector<infer::Request> out;
  for (std::uint64_t row = 0; row < 3; ++row)
    out.push_back({ids_of(model, row, kLengths[row]),
                   {.max_new_tokens = 4 + 3 * static_cast<std::int64_t>(row), .seed = row}});
  return out;
}

class Rows : public ModelFolderTest {};

TEST_P(Rows, GetTheBitsThatTheyGetAlone) {
  const auto model = load_model(folder());
  const auto together = steps_together(*model);
  EXPECT_EQ(together.size(), static_cast<std::size_t>(3 * (kSteps + 1) * model->shape().vocab));
  EXPECT_EQ(together, steps_alone(*model));
}

TEST_P(Rows, AreContinuedAsEachIsAlone) {
  const auto model = load_model(folder());
  const auto all = requests(*model);
  const auto together = infer::generate(*model, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(together[i].size(), 4 + 3 * i);
    EXPECT_EQ(together[i], infer::generate(*model, all[i].prompt, all[i].options));
  }
}

// Kept in fewer bytes, weights give each row the bits that it gets alone, and what the same weights in fp32 give.
TEST_P(Rows, OfStoredWeights) {
  for (const auto type : {core::WeightType::bf16, core::WeightType::int8}) {
    const auto stored = load_model(folder()), rounded = load_model(folder());
    nn::store_weights(*stored, type);
    nn::round_weights(*rounded, type);
    EXPECT_LT(nn::weight_bytes_of_a_token(*stored), nn::weight_bytes_of_a_token(*rounded));
    const auto together = steps_together(*stored), expected = steps_alone(*rounded);
    EXPECT_EQ(together, steps_alone(*stored));
    ASSERT_EQ(together.size(), expected.size());
    for (std::size_t i = 0; i < together.size(); ++i)
      ASSERT_NEAR(together[i], expected[i], 2e-5 + 2e-5 * std::abs(expected[i])) << core::name(type) << i;
    EXPECT_NE(expected, steps_alone(*load_model(folder())));
  }
}

// Heads where their number is even, MLP and vocabulary in shards over `model`, or parameters in shards over
// `data`.
void write_with_two(const std::string& folder, bool model_axis,
                    const std::function<void(const nn::LanguageModel&)>& use) {
  const auto json = checkpoint::read_hf_config(folder);
  const auto config = models::model_config_from_hf(json, folder);
  const auto vocab = models::vocab_size_from_hf(json, folder);
  const bool even = config->shape(vocab).kv_heads % 2 == 0;
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& workers) {
    const auto loaded =
        load_run({}, {{"model.type", config->type()},
                      {"initialize_from_hf", folder},
                      {"use_hf_model_config", "true"},
                      {"trainer.train_batch_size", "2"},
                      {"trainer.tensor_parallel_axes", even ? "[heads, mlp, vocab]" : "[mlp, vocab]"},
                      {"trainer.model_axis_size", model_axis ? "2" : "1"}});
    PlacedModel model(loaded, mesh::testing::borrowed(workers), vocab);
    model.with_whole_positions([&] { use(*model); });
  });
  for (const auto& error : errors) EXPECT_EQ(error, "");
}

TEST_P(Rows, OnTwoWorkers) {
  const auto whole = load_model(folder());
  const auto expected = infer::generate(*whole, requests(*whole));
  for (const bool model_axis : {true, false}) {
    std::mutex mutex;
    write_with_two(folder(), model_axis, [&](const nn::LanguageModel& model) {
      const auto together = steps_together(model), alone = steps_alone(model);
      const auto tokens = infer::generate(model, requests(model));
      const std::lock_guard lock(mutex);
      EXPECT_EQ(together, alone);
      EXPECT_EQ(tokens, expected);
    });
  }
}

TEST(RowsOfAModel, EndOneByOne) {
  const auto model = load_model(BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma2");
  auto all = requests(*model);
  const auto free = infer::generate(*model, all);
  all[1].options.stop_ids = {free[1][2]};
  const auto stopped = infer::generate(
      *model, all, [&](std::size_t request, std::int32_t id) { return request != 2 || id != free[2][4]; });
  EXPECT_EQ(stopped[0], free[0]);
  EXPECT_LE(stopped[1].size(), 2U);
  EXPECT_LE(stopped[2].size(), 5U);
  EXPECT_EQ(stopped[2].back(), free[2][4]);
  EXPECT_TRUE(infer::generate(*model, std::vector<infer::Request>{}).empty());
}

INSTANTIATE_TEST_SUITE_P(Models, Rows,
                         testing::Values(BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt2",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-llama-gqa-rope3",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-mistral",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen2",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen3",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-olmo2",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-smollm3",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-granite",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-phi3",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma3",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt-neox",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gptj",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-mpt",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-olmo3",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-backpack",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-mixtral",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen2-moe",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-qwen3-moe",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-olmoe",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gpt-oss",
                                         BORA_SOURCE_DIR "/tests/parity/models/tiny-gemma2"),
                         model_name);

}  // namespace
}  // namespace bora::run
