// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Requests that come and go, of every family: bit for bit what each gets alone, and what a whole pass over its text
// gives.
#include "bora/infer/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/nn/stored_weights.h"
#include "bora/run/models.h"
#include "model_folders.h"

namespace bora::run {
namespace {

using infer::Engine;
using Ids = std::vector<std::int32_t>;

// Random lengths, options and neighbours; every fifth has the prompt of the one before it.
std::vector<infer::Request> random_requests(const nn::LanguageModel& model, std::size_t n) {
  const auto shape = model.shape();
  std::vector<infer::Request> out;
  for (std::size_t i = 0; i < n; ++i) {
    const auto key = Key::from_seed(17).fold(i);
    const auto draw = [&](std::uint64_t place, std::int64_t most) {
      return static_cast<std::int64_t>(key.below(static_cast<std::uint64_t>(most), place));
    };
    const auto room = shape.seq_len - 12;
    const auto length = 1 + (i % 8 == 0 ? draw(0, room) : draw(0, std::min<std::int64_t>(40, room)));
    Ids prompt;
    for (std::int64_t j = 0; j < length; ++j)
      prompt.push_back(static_cast<std::int32_t>(draw(100 + static_cast<std::uint64_t>(j), shape.vocab)));
    if (i % 5 == 4) prompt = out.back().prompt;
    out.push_back({prompt,
                   {.max_new_tokens = 1 + draw(1, 9),
                    .seed = static_cast<std::uint64_t>(draw(2, 3)),
                    .sample = i % 5 == 4 ? 1U : 0U,
                    .sampling = {.temperature = i % 3 == 0 ? 0.0 : 1.0, .top_k = 20}}});
  }
  return out;
}

struct Seen {
  std::vector<float> logits;
  Ids ids;
};

// What each of `requests` gets, some of them added while others grow.
std::vector<Seen> together(const nn::LanguageModel& model, const std::vector<infer::Request>& requests,
                           infer::EngineOptions options, std::size_t at_once) {
  Engine engine(model, options);
  std::vector<Seen> out(requests.size());
  engine.observe([&](Engine::Id id, std::span<const float> logits) {
    auto& seen = out[static_cast<std::size_t>(id)].logits;
    seen.insert(seen.end(), logits.begin(), logits.end());
  });
  std::size_t added = 0;
  for (bool going = true; going || added < requests.size();) {
    for (std::size_t i = 0; i < at_once && added < requests.size(); ++i) engine.add(requests[added++]);
    going = engine.step();
    for (auto& [id, text] : engine.take_done()) out[static_cast<std::size_t>(id)].ids = text.ids;
  }
  EXPECT_EQ(engine.cache().pages(), 0);
  return out;
}

// Logits of the last position of a text, without a cache.
std::vector<float> whole_pass(const nn::LanguageModel& model, const Ids& text) {
  constexpr std::array<std::string_view, 2> names{"batch", "position"};
  const std::array<std::int64_t, 2> sizes{1, std::ssize(text)};
  const auto all = model.logits(core::from_data({names, sizes}, std::span<const std::int32_t>(text)), {});
  const auto values = all.to_vector<float>();
  return {values.end() - model.shape().vocab, values.end()};
}

// What the rounding of a logit, a sum of products, goes by.
float largest(const std::vector<float>& logits) {
  float most = 1;
  for (const float x : logits) most = std::max(most, std::abs(x));
  return most;
}

// Of few lengths, read together.
std::vector<infer::Request> short_requests(const nn::LanguageModel& model, std::size_t n) {
  auto out = random_requests(model, n);
  for (std::size_t i = 0; i < n; ++i) {
    constexpr std::size_t kLengths[] = {1, 2, 5, 16, 17, 20};
    auto& prompt = out[i].prompt;
    prompt.resize(kLengths[i % 6],
                  static_cast<std::int32_t>(i) % static_cast<std::int32_t>(model.shape().vocab));
    out[i].options.max_new_tokens = 3;
  }
  return out;
}

class EngineOf : public ModelFolderTest {};

TEST_P(EngineOf, GivesTheLogitsOfTheTrainingPass) {
  const auto model = load_model(folder());
  const auto requests = random_requests(*model, 8);
  const auto seen = together(*model, requests, {}, 4);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto text = requests[i].prompt;
    auto got = seen[i].logits.begin();
    for (const auto id : seen[i].ids) {
      const auto expected = whole_pass(*model, text);
      const float scale = largest(expected);
      for (const float x : expected) ASSERT_NEAR(*got++, x, 5e-6 * scale) << i << " " << text.size();
      text.push_back(id);
    }
    EXPECT_EQ(got, seen[i].logits.end());
  }
}

TEST_P(EngineOf, GivesRequestsTheBitsThatEachGetsAlone) {
  const auto model = load_model(folder());
  const auto requests = random_requests(*model, 10);
  const auto all = together(*model, requests, {.rows = 6}, 4);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto alone = together(*model, {requests[i]}, {.rows = 1}, 1).front();
    EXPECT_EQ(all[i].ids, alone.ids);
    EXPECT_EQ(all[i].logits, alone.logits);
  }
}

TEST_P(EngineOf, GivesShortPromptsReadTogetherTheBitsThatEachGetsAlone) {
  for (const auto type : {core::WeightType::f32, core::WeightType::bf16, core::WeightType::int8}) {
    const auto model = load_model(folder());
    if (type != core::WeightType::f32) nn::store_weights(*model, type);
    const auto requests = short_requests(*model, 24);
    const auto all = together(*model, requests, {.rows = 24}, 24);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto alone = together(*model, {requests[i]}, {.rows = 1}, 1).front();
      EXPECT_EQ(all[i].ids, alone.ids) << i;
      EXPECT_EQ(all[i].logits, alone.logits) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EngineOf, testing::ValuesIn(model_folders()), model_name);

}  // namespace
}  // namespace bora::run
