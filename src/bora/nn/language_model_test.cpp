// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/language_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/reduce.h"
#include "bora/named/ops.h"
#include "bora/nn/embedding.h"
#include "bora/nn/linear.h"

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

struct Inner : axis<"inner"> {};

/// With linear maps, of which one is the head.
struct Mapped {
  static constexpr std::string_view kind = "Mapped";
  using BatchAxis = Batch;
  using PosAxis = Pos;
  using EmbedAxis = Embed;
  Embedding<Vocab, Embed> embed;
  Linear<Embed, Inner> up;
  Linear<Inner, Embed> down;
  Linear<Embed, Vocab> lm_head;
  using fields = Fields<&Mapped::embed, &Mapped::up, &Mapped::down, &Mapped::lm_head>;
  Named<Batch, Pos, Embed> operator()(const Indices<Batch, Pos>& ids, const Context&) const {
    return down(tanh(up(embed(ids))));
  }
  const Named<Vocab, Embed>& head() const { return lm_head.weight; }
  ModelShape shape() const { return {}; }
  Json hf_config() const { return {}; }
};

Mapped mapped_model() {
  const Key key = Key::from_seed(1);
  const Dim<Embed> embed{kEmbed};
  const Dim<Inner> inner{6};
  return {{random_normal(key.fold("a"), 0, 1, Dim<Vocab>{kVocab}, embed)},
          Linear<Embed, Inner>::init(embed, inner, key.fold("b"), 1),
          Linear<Inner, Embed>::init(inner, embed, key.fold("c"), 1),
          Linear<Embed, Vocab>::init(embed, Dim<Vocab>{kVocab}, key.fold("d"), 1, false)};
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

TEST(LanguageModel, ScoresAreWhatTheLossIsMadeOf) {
  const auto b = batch();
  const auto bias = random_normal(Key::from_seed(2), 0, 1, Dim<Vocab>{kVocab});
  const auto model = erase_type(Capped{plain_model(), bias});
  const auto got = model->scores(b, {.rank = true, .top = 3});
  const auto p = got.log_prob.to_vector<float>(), weights = b.weights.to_vector<float>();
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum -= double{weights[i]} * p[i];
  EXPECT_NEAR(sum, model->objective(b, std::nullopt, {}).loss.item(), 1e-5);
  EXPECT_EQ(got.rank.sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(got.top_ids.sizes(), (std::vector<std::int64_t>{2, 3, 3}));
  const auto hidden = plain_model()(indices_from_array<Batch, Pos>(b.ids), {});
  const Capped typed{plain_model(), bias};
  const auto log_prob = token_log_prob<Batch, Pos>(hidden, typed.head(), b, {}, typed.head_options());
  EXPECT_EQ(log_prob.to_vector(), p);
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

double loss_of(const LanguageModel& model, std::optional<Key> key) {
  return model.objective(batch(), key, {}).loss.item();
}

TEST(LanguageModel, AdaptersWithoutTheType) {
  const auto plain = erase_type(mapped_model()), model = erase_type(mapped_model());
  std::string maps;
  for (const auto& map : model->linear_maps()) maps += map.path + (map.head ? " (head) " : " ");
  EXPECT_EQ(maps, "up down lm_head (head) ");
  model->attach_adapters({{"up", {.rank = 2, .dropout = 0.5}}, {"down", {.rank = 3}}}, Key::from_seed(2));
  EXPECT_EQ(loss_of(*model, std::nullopt), loss_of(*plain, std::nullopt));
  for (auto& p : model->parameters())
    if (p.trainable)
      *p.array = core::random_normal(Key::from_seed(3).fold(p.path), {p.axes, p.array->sizes()}, 0, 1);
  const auto adapted = loss_of(*model, std::nullopt);
  EXPECT_NE(adapted, loss_of(*plain, std::nullopt));
  // Dropout needs a key, and goes by it.
  EXPECT_NE(loss_of(*model, Key::from_seed(1)), adapted);
  EXPECT_EQ(loss_of(*model, Key::from_seed(1)), loss_of(*model, Key::from_seed(1)));
  EXPECT_NE(loss_of(*model, Key::from_seed(1)), loss_of(*model, Key::from_seed(2)));
  EXPECT_EQ(loss_of(*plain, Key::from_seed(1)), loss_of(*plain, std::nullopt));
  model->merge_adapters();
  EXPECT_NEAR(loss_of(*model, Key::from_seed(1)), adapted, 1e-4 * std::abs(adapted));
  EXPECT_EQ(model->parameters().size(), plain->parameters().size());
}

// An adapter that the model had before its type was erased drops inputs too.
TEST(LanguageModel, AdaptedBefore) {
  auto adapted = mapped_model();
  attach_lora(adapted, {.rank = 2, .dropout = 0.5}, Key::from_seed(2));
  for (auto& p : parameters(adapted)) {
    if (p.trainable)
      *p.array = core::random_normal(Key::from_seed(3).fold(p.path), {p.axes, p.array->sizes()}, 0, 1);
  }
  const auto model = erase_type(adapted);
  EXPECT_NE(loss_of(*model, Key::from_seed(1)), loss_of(*model, std::nullopt));
}

std::string words_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(LanguageModel, NoAdapterOnTheHead) {
  const auto model = erase_type(mapped_model());
  EXPECT_EQ(words_of([&] { model->attach_adapters({{"lm_head", {}}}, Key{}); }),
            "lora: lm_head is the head, of which losses use the weight alone: an adapter would do nothing\n"
            "hint: choose other linear maps");
}

// A language model that somebody wrote without erase_type.
struct Own final : LanguageModel {
  std::vector<core::Parameter> parameters() override { return {}; }
  ModelShape shape() const override { return {}; }
  Objective objective(const TokenBatch&, std::optional<Key>, const LossOptions&) const override { return {}; }
  core::Array logits(const core::Array&, const Context&) const override { return {}; }
  HfName hf_name(std::string_view path) const override { return {std::string(path)}; }
  Json hf_config() const override { return {}; }
};

TEST(LanguageModel, OneOfOnesOwnHasNoAdapters) {
  Own own;
  EXPECT_TRUE(own.linear_maps().empty());
  for (const auto& asks : {std::function<void()>([&] { own.attach_adapters({}, Key{}); }),
                           std::function<void()>([&] { own.merge_adapters(); })}) {
    EXPECT_EQ(words_of(asks),
              "lora: this model says nothing of its linear maps, so that no adapter can go on them\n"
              "hint: nn::erase_type makes a language model that does");
  }
}

}  // namespace
}  // namespace bora::nn
