// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/language_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/nn/embedding.h"

namespace bora::nn {
namespace {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Vocab : axis<"vocab"> {};

constexpr std::int64_t kVocab = 11, kEmbed = 4;
constexpr std::string_view kTokens[] = {"batch", "position"};

/// Each token's embedding is its hidden state.
struct Plain {
  static constexpr std::string_view kind = "Plain";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  Embedding<Vocab, Embed> embed, lm_head;
  using fields = Fields<&Plain::embed, &Plain::lm_head>;
  Named<Batch, Pos, Embed> operator()(const Indices<Batch, Pos>& ids, const Context&) const {
    return embed(ids);
  }
  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};

struct Capped {
  static constexpr std::string_view kind = "Capped";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  Plain plain;
  Named<Vocab> bias;
  using fields = Fields<&Capped::plain, &Capped::bias>;
  auto operator()(const Indices<Batch, Pos>& ids, const Context& context) const {
    return plain(ids, context);
  }
  const Named<Vocab, Embed>& head() const { return plain.head(); }
  core::HeadOptions head_options() const {
    return {.logit_scale = 0.5, .soft_cap = 1.5, .bias = bias.array()};
  }
  ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};

Plain plain_model() {
  const Key key = Key::from_seed(1);
  return {{random_normal(key.fold("a"), 0, 1, Dim<Vocab>{kVocab}, Dim<Embed>{kEmbed})},
          {random_normal(key.fold("b"), 0, 1, Dim<Vocab>{kVocab}, Dim<Embed>{kEmbed})}};
}

TokenBatch batch() {
  const std::vector<std::int64_t> sizes{2, 3};
  const core::Shape shape{kTokens, sizes};
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6}, targets{2, 3, 0, 5, 6, 0};
  const std::vector<float> weights{1, 1, 0, 1, 0.5F, 0};
  return {core::from_data(shape, std::span(ids)),
          core::from_data(shape, std::span(targets)),
          core::from_data(shape, std::span(weights)),
          {}};
}

// What the loss must be, from the model's own logits.
double loss_of(const LanguageModel& model, const TokenBatch& b) {
  const auto logits = model.logits(b.ids, {}).to_vector<float>();
  const auto targets = b.targets.to_vector<std::int32_t>();
  const auto weights = b.weights.to_vector<float>();
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    double total = 0;
    for (std::size_t v = 0; v < kVocab; ++v) total += std::exp(logits[i * kVocab + v]);
    sum += weights[i] * (std::log(total) - logits[i * kVocab + static_cast<std::size_t>(targets[i])]);
  }
  return sum;
}

TEST(LanguageModel, LossAndLogitsFollowTheModelsHeadOptions) {
  const auto b = batch();
  const auto bias = random_normal(Key::from_seed(2), 0, 1, Dim<Vocab>{kVocab});
  const auto plain = erase_type(plain_model()), capped = erase_type(Capped{plain_model(), bias});
  const auto x = plain->logits(b.ids, {}).to_vector<float>(),
             y = capped->logits(b.ids, {}).to_vector<float>();
  const auto shift = bias.array().to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(y[i], 1.5 * std::tanh((0.5 * x[i] + shift[i % kVocab]) / 1.5), 1e-6);
  for (const auto* model : {plain.get(), capped.get()}) {
    const auto got = model->loss(b, std::nullopt, {});
    EXPECT_NEAR(got.loss.item(), loss_of(*model, b), 1e-5);
    EXPECT_EQ(got.weight.item(), 3.5);
  }
}

TEST(LanguageModel, ABiasOfTheHeadGetsItsGradient) {
  const auto b = batch();
  auto bias = random_normal(Key::from_seed(2), 0, 1, Dim<Vocab>{kVocab});
  const auto model = erase_type(Capped{plain_model(), bias});
  for (const auto compute : {core::DType::f32, core::DType::bf16}) {
    core::Array* place = model->parameters().back().array;
    const auto result = core::value_and_grad(std::vector<core::Array*>{place}, [&] {
      return model->loss(b, std::nullopt, {.compute = compute}).loss;
    });
    double sum = 0;
    for (const float g : result.gradients[0].to_vector<float>()) sum += std::abs(g);
    EXPECT_GT(sum, 0.1);
  }
}

}  // namespace
}  // namespace bora::nn
