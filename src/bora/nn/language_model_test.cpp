// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/language_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/named/ops.h"
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
    const auto got = model->objective(b, std::nullopt, {});
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
      return model->objective(b, std::nullopt, {.compute = compute}).loss;
    });
    double sum = 0;
    for (const float g : result.gradients[0].to_vector<float>()) sum += std::abs(g);
    EXPECT_GT(sum, 0.1);
  }
}

/// Adds the mean square of the hidden states to the loss, once for each token that counts.
struct Regular {
  static constexpr std::string_view kind = "Regular";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  Plain plain;
  using fields = Fields<&Regular::plain>;
  auto operator()(const Indices<Batch, Pos>& ids, const Context& context) const {
    return plain(ids, context);
  }
  const Named<Vocab, Embed>& head() const { return plain.head(); }
  Objective objective(const TokenBatch& batch, const Context& context, const LossOptions& options) const {
    const auto hidden = (*this)(indices_from_array<Batch, Pos>(batch.ids), context);
    auto out = next_token_objective<Batch, Pos>(hidden, head(), batch, options);
    const auto square = total(hidden * hidden) * (1.0 / (6 * kEmbed));
    const auto weighted = square * Named<>::adopt(core::Array(out.weight));
    out.metrics = {{"nll", out.loss, out.weight}, {"hidden/square", weighted.array(), out.weight}};
    out.loss = (Named<>::adopt(core::Array(out.loss)) + weighted).array();
    return out;
  }
  ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};

TEST(LanguageModel, AModelsOwnObjectiveIsUsed) {
  const auto b = batch();
  const auto plain = erase_type(plain_model()), own = erase_type(Regular{plain_model()});
  const auto want = plain->objective(b, std::nullopt, {});
  const auto got = own->objective(b, std::nullopt, {});
  EXPECT_TRUE(want.metrics.empty());
  ASSERT_EQ(got.metrics.size(), 2U);
  EXPECT_EQ(got.metrics[0].name, "nll");
  EXPECT_EQ(got.metrics[0].sum.item(), want.loss.item());
  EXPECT_EQ(got.weight.item(), want.weight.item());
  double square = 0;
  const auto table = plain->parameters()[0].array->to_vector<float>();
  for (const auto id : b.ids.to_vector<std::int32_t>())
    for (std::size_t e = 0; e < kEmbed; ++e)
      square += std::pow(table[static_cast<std::size_t>(id) * kEmbed + e], 2);
  square /= 6 * kEmbed;
  EXPECT_NEAR(got.metrics[1].sum.item() / got.metrics[1].weight.item(), square, 1e-6);
  EXPECT_NEAR(got.loss.item(), want.loss.item() + 3.5 * square, 1e-5);
}

std::string error_of(const std::vector<NamedSum>& metrics) {
  try {
    check_metrics(metrics);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Objective, MetricsThatCannotBe) {
  const auto one = core::ones({});
  const std::vector<std::int64_t> sizes{2, 3};
  EXPECT_EQ(error_of({{"a", one, one}, {"b/a", one, one}}), "no error");
  EXPECT_EQ(error_of({{"", one, one}}), "objective: a metric without a name");
  EXPECT_EQ(error_of({{"a", one, one}, {"a", one, one}}), "objective: two metrics are named a");
  EXPECT_EQ(error_of({{"loss", one, one}}),
            "objective: a metric is named loss, which trainers give themselves\nhint: another name, as "
            "router/loss");
  EXPECT_EQ(
      error_of({{"a", core::ones({kTokens, sizes}), one}}),
      "objective: the sum of the metric a is an array of 2 axes, not a scalar\nhint: sum over all axes");
  EXPECT_EQ(error_of({{"a", one, {}}}),
            "objective: the weight of the metric a is empty, not a scalar\nhint: sum over all axes");
}

}  // namespace
}  // namespace bora::nn
