// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A start from Hugging Face weights with another tokenizer: the rows of embedding and head follow its vocabulary.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "bora/checkpoint/hf_config.h"
#include "bora/core/shard.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/models/model_types.h"
#include "bora/run/hf_start.h"
#include "bora/run/models.h"
#include "bora/run/placed_model.h"

namespace bora::run {
namespace {

using Values = std::map<std::string, std::vector<float>>;  // by path

Values values_of(nn::LanguageModel& model) {
  Values out;
  for (const auto& p : model.parameters()) out[p.path] = p.array->to_vector<float>();
  return out;
}

// What the model should be with `rows` rows of what was `stored`.
std::vector<float> resized(const std::vector<float>& stored, std::int64_t from, std::int64_t rows) {
  const auto width = stored.size() / static_cast<std::size_t>(from);
  std::vector<float> out(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(std::min(from, rows)) *
                                                              static_cast<std::ptrdiff_t>(width));
  std::vector<float> mean(width);
  for (std::size_t j = 0; j < width; ++j) {
    double sum = 0;
    for (std::size_t i = j; i < stored.size(); i += width) sum += static_cast<double>(stored[i]);
    mean[j] = static_cast<float>(sum / static_cast<double>(from));
  }
  for (auto row = from; row < rows; ++row) out.insert(out.end(), mean.begin(), mean.end());
  return out;
}

class Resized : public testing::TestWithParam<std::string> {
 protected:
  std::string folder() const { return BORA_SOURCE_DIR "/tests/parity/models/" + GetParam(); }

  // The whole values on `workers` workers, cut over `model` or over `data`.
  Values start(int workers, bool model_axis, std::int64_t vocab) const {
    Values out;
    std::mutex mutex;
    const auto json = checkpoint::read_hf_config(folder());
    const auto errors = mesh::testing::run_workers({.count = workers}, [&](mesh::Communicator& all) {
      const auto loaded =
          load_run({}, {{"model.type", models::model_config_from_hf(json, folder())->type()},
                        {"initialize_from_hf", folder()},
                        {"use_hf_model_config", "true"},
                        {"trainer.train_batch_size", "2"},
                        {"trainer.tensor_parallel_axes", "[mlp, vocab]"},
                        {"trainer.model_axis_size", model_axis ? std::to_string(workers) : "1"}});
      PlacedModel model(loaded, mesh::testing::borrowed(all), vocab);
      EXPECT_EQ(model->shape().vocab, vocab);
      EXPECT_EQ(model.stored_vocab(), stored());
      model.lend_values([&](const WholeValues& whole) {
        const std::lock_guard lock(mutex);
        for (const auto& p : model->parameters()) {
          const auto x = whole(p);
          const auto* data = core::local_data<float>(x);
          out[p.path].assign(data, data + x.numel());
        }
      });
    });
    for (const auto& error : errors) EXPECT_EQ(error, "");
    return out;
  }
  std::int64_t stored() const {
    return models::vocab_size_from_hf(checkpoint::read_hf_config(folder()), folder());
  }
};

TEST_P(Resized, OldRowsStayAndNewOnesAreTheirMean) {
  const auto model = load_model(folder());
  const auto whole = values_of(*model);
  for (const auto vocab : {stored() + 6, stored() - 10}) {
    Values expected = whole;
    int changed = 0;
    for (const auto& p : model->parameters()) {
      if (p.axes.front() != "vocab") continue;
      expected[p.path] = resized(whole.at(p.path), stored(), vocab);
      ++changed;
    }
    ASSERT_GE(changed, 1);
    EXPECT_EQ(start(1, false, vocab), expected) << vocab;
    EXPECT_EQ(start(2, true, vocab), expected) << vocab;
    EXPECT_EQ(start(2, false, vocab), expected) << vocab;
  }
}

// Tied, with a head of its own, and with a bias there.
INSTANTIATE_TEST_SUITE_P(Models, Resized, testing::Values("tiny-gpt2", "tiny-llama-gqa-rope3", "tiny-gptj"),
                         [](const auto& of) {
                           auto name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bora::run
