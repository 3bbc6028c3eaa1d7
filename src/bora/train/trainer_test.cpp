// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/parameter_store.h"
#include "bora/core/reduce.h"
#include "bora/mesh/sharded_parameters.h"
#include "bora/mesh/test_communicator.h"
#include "bora/optim/adam.h"
#include "bora/optim/step_parts.h"
#include "bora/train/reduction.h"

namespace bora::train {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kEmbed[] = {"embed"}, kTokens[] = {"batch", "position"};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// What a batch does to the model below.
enum Kind : std::int32_t { fine, bad_loss, bad_gradient, no_weights };

// One parameter p, and the loss sum(p) for each token that counts.
class Stub final : public nn::LanguageModel {
 public:
  std::vector<core::Parameter> parameters() override {
    return {{.path = "p", .axes = {"embed"}, .array = &p_}};
  }
  nn::ModelShape shape() const override { return {}; }
  nn::Objective objective(const nn::TokenBatch& batch, std::optional<Key>,
                          const nn::LossOptions&) const override {
    if (auto* store = core::parameter_store()) store->hold({&p_, 1});
    const auto weight = core::reduce(core::Reduction::sum, {batch.weights, kTokens}, kTokens);
    auto sum = core::reduce(core::Reduction::sum, {p_, kEmbed}, kEmbed);
    const auto kind = batch.ids.to_vector<std::int32_t>()[0];
    if (kind == bad_loss) sum = core::binary(core::Binary::multiply, {sum, {}}, kNaN);
    if (kind == bad_gradient)  // the slope of a root at 0
      sum = core::unary(core::Unary::sqrt, {core::binary(core::Binary::multiply, {sum, {}}, 0.0), {}});
    nn::Objective out{core::binary(core::Binary::multiply, {sum, {}}, {weight, {}}, {}), weight};
    out.metrics.push_back(
        {"stub/p", core::binary(core::Binary::multiply, {sum, {}}, 0.3), core::full({}, 2)});
    out.metrics.push_back({"stub/never", core::full({}, 0), core::full({}, 0)});
    return out;
  }
  core::Array logits(const core::Array& ids, const nn::Context&) const override { return ids; }
  nn::HfName hf_name(std::string_view) const override { return {}; }
  Json hf_config() const override { return {}; }

  core::Array p_ = core::full({kEmbed, kSizes}, 1);

 private:
  static constexpr std::int64_t kSizes[] = {4};
};

// A training whose steps are of these kinds; alone, or one of several workers that hold blocks of p.
struct Training {
  explicit Training(std::vector<Kind> of, TrainerOptions options = {}, mesh::Communicator* workers = nullptr,
                    std::optional<optim::SkipStep> skip = std::nullopt)
      : kinds(std::move(of)) {
    config.learning_rate = 0.1;
    config.warmup = 0;
    options.total_steps = std::ssize(kinds);
    options.lanes = 2;
    Trainer::Parts parts{.model = model,
                         .optimizer = *(optimizer = optimizer_for(workers)),
                         .schedule = optim::Schedule(config, options.total_steps),
                         .skip_step = std::move(skip),
                         .batch_of = [this](std::int64_t step) { return batch(step); },
                         .hooks = {[this](const StepResult& r) { results.push_back(r); }}};
    if (workers != nullptr) parts.reducer = mesh::make_sharded_reducer(*store);
    trainer.emplace(std::move(parts), options);
  }
  static std::shared_ptr<mesh::Communicator> borrowed(mesh::Communicator& c) {
    return {std::shared_ptr<mesh::Communicator>(), &c};
  }
  std::unique_ptr<optim::Optimizer> optimizer_for(mesh::Communicator* workers) {
    if (workers == nullptr) return std::make_unique<optim::Adam>(config, model.parameters());
    store.emplace(borrowed(*workers), std::vector<std::string>{"embed"});
    scope.emplace(*store);
    store->adopt(model.parameters());
    return std::make_unique<optim::Adam>(config, store->shards());
  }
  data::Batch batch(std::int64_t step) const {
    const auto kind = kinds.at(static_cast<std::size_t>(step));
    return {.step = step,
            .sequences = 2,
            .seq_len = 2,
            .tokens = std::vector<std::int32_t>(4, kind),
            .targets = std::vector<std::int32_t>(4, 0),
            .segments = {},
            .loss_weights = std::vector<float>(4, kind == no_weights ? 0.F : 1.F),
            .sources = {}};
  }
  std::vector<float> values() { return trainer->parameters()[0].array->to_vector<float>(); }
  Error error() {
    try {
      trainer->run();
    } catch (const Error& e) {
      return e;
    }
    return Error(ErrorKind::Usage, "no error");
  }

  std::vector<Kind> kinds;
  Stub model;
  optim::AdamConfig config;
  std::optional<mesh::ShardedParameters> store;
  std::optional<core::ParameterStoreScope> scope;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::vector<StepResult> results;
  std::optional<Trainer> trainer;
};

TEST(Trainer, ABadLossOrGradientEndsTheRunAndChangesNothing) {
  Training one({fine}), loss({fine, bad_loss, fine}), gradient({fine, bad_gradient});
  one.trainer->run();
  EXPECT_THAT(one.values(), Each(testing::Lt(1.F)));
  const auto of_loss = loss.error(), of_gradient = gradient.error();
  EXPECT_EQ(of_loss.kind(), ErrorKind::NonFinite);
  EXPECT_STREQ(
      of_loss.what(),
      "step 1: the loss is nan; the parameters are finite, the first bad gradient is that of p "
      "(element 0); nothing was changed\nhint: a lower optimizer.learning_rate; trainer.crash_on_nan: "
      "false goes on without such steps");
  EXPECT_EQ(of_gradient.kind(), ErrorKind::NonFinite);
  EXPECT_THAT(of_gradient.what(), HasSubstr("step 1: the gradient norm is nan; the parameters are finite, "));
  EXPECT_EQ(loss.values(), one.values());
  EXPECT_EQ(gradient.values(), one.values());
  EXPECT_NO_THROW(loss.trainer->require_finite_parameters());
}

TEST(Trainer, BadStepsAreSkippedWhereTheyMayBe) {
  Training got({fine, bad_loss, bad_gradient, fine}, {.crash_on_nan = false});
  EXPECT_EQ(got.trainer->run(), Outcome::finished);
  ASSERT_EQ(got.results.size(), 4U);
  EXPECT_TRUE(std::isnan(got.results[1].loss));
  EXPECT_TRUE(got.results[1].skipped && got.results[2].skipped);
  EXPECT_FALSE(got.results[0].skipped || got.results[3].skipped);
  for (const float x : got.values()) EXPECT_TRUE(std::isfinite(x));

  Training window({fine, bad_gradient, fine}, {}, nullptr, optim::SkipStep({}));
  window.trainer->run();
  EXPECT_TRUE(window.results[1].skipped);
}

TEST(Trainer, BadParametersAreNamedAndNotSaved) {
  Training t({fine});
  t.model.p_.data<float>()[2] = std::numeric_limits<float>::infinity();
  const auto e = t.error();
  EXPECT_EQ(e.kind(), ErrorKind::NonFinite);
  EXPECT_THAT(e.what(),
              HasSubstr("step 0: the loss is inf; the first bad tensor is the parameter p (element 2)\n"));
  try {
    t.trainer->require_finite_parameters();
    ADD_FAILURE() << "no error";
  } catch (const Error& save) {
    EXPECT_EQ(save.kind(), ErrorKind::NonFinite);
    EXPECT_THAT(save.what(), HasSubstr("after step 0: the first tensor that is not finite is the parameter p "
                                       "(element 2); it is not saved\n"));
  }
}

// Values that lie elsewhere are not read.
TEST(Trainer, WorkersWithBlocksOfParametersAgree) {
  for (const Kind kind : {bad_loss, bad_gradient}) {
    const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
      Training t({fine, kind}, {}, &c);
      t.trainer->run();
    });
    EXPECT_THAT(errors,
                Each(HasSubstr("the parameters are finite, the first bad gradient is that of p; nothing")));
  }
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    Training t({fine}, {}, &c);
    if (c.rank() == 1) t.trainer->parameters()[0].array->data<float>()[0] = static_cast<float>(kNaN);
    t.trainer->run();
  });
  EXPECT_THAT(errors, Each(HasSubstr("step 0: the loss is nan; the first bad tensor is the parameter p\n")));
}

TEST(Trainer, AModelsMetricsAreMeansOverLanesAndWorkers) {
  Training alone({fine, fine});
  alone.trainer->run();
  ASSERT_EQ(alone.results.size(), 2U);
  EXPECT_THAT(alone.results[0].metrics,
              ElementsAre(track::Metric{"stub/p", static_cast<float>(4 * 0.3) / 2.}))
      << "of two lanes, and none that counted nowhere";
  EXPECT_LT(alone.results[1].metrics[0].value, alone.results[0].metrics[0].value);
  const auto errors = mesh::testing::run_workers({.count = 3}, [&](mesh::Communicator& c) {
    Training t({fine, fine}, {}, &c);
    t.trainer->run();
    for (const std::size_t step : {0U, 1U}) EXPECT_EQ(t.results[step].metrics, alone.results[step].metrics);
  });
  EXPECT_THAT(errors, Each(std::string()));
}

// Sets each parameter to the sum of all of it.
class SumOfAll final : public optim::Optimizer {
 public:
  optim::StepReport step(std::span<const core::Parameter> parameters, std::span<const core::Array>,
                         const optim::StepInfo& info) override {
    const std::vector<std::size_t> which{0};
    optim::whole_matrices(info).transform(
        which, [&](std::size_t i) { return *parameters[i].array; },
        [](std::size_t, const core::Array& whole) {
          const auto sum = core::reduce(core::Reduction::sum, {whole, kEmbed}, kEmbed).item();
          const auto sizes = whole.sizes();
          return core::full({kEmbed, sizes}, sum);
        },
        [&](std::size_t i, const core::Array& block) {
          std::copy_n(block.data<float>(), block.numel(), parameters[i].array->data<float>());
        });
    return {};
  }
  std::vector<optim::NamedArray> state() const override { return {}; }
  Json save_state() const override { return nullptr; }
  void load_state(const Json&, std::int64_t) override {}
};

TEST(Trainer, OptimizersSeeWholeMatricesBehindBlocks) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    Training t({fine}, {}, &c);
    SumOfAll optimizer;
    Trainer trainer({.model = t.model,
                     .optimizer = optimizer,
                     .schedule = optim::Schedule(t.config, 1),
                     .batch_of = [&](std::int64_t step) { return t.batch(step); },
                     .reducer = mesh::make_sharded_reducer(*t.store)},
                    {.total_steps = 1, .lanes = 2});
    trainer.run();
    EXPECT_EQ(trainer.parameters()[0].array->to_vector<float>(), (std::vector<float>{4, 4}));
  });
  EXPECT_THAT(errors, Each(std::string()));
}

// Of a batch that has fewer lanes than there are workers, too.
TEST(Trainer, AWorkerNeedsTheRowsOfItsLanesAlone) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    const Training t({fine}, {}, &c);  // two lanes at most
    for (const std::int64_t row : {0, 1, 2, 3}) EXPECT_EQ(t.trainer->computes(row, 4), row / 2 == c.rank());
    for (const std::int64_t row : {0, 1, 2}) EXPECT_EQ(t.trainer->computes(row, 3), c.rank() == 0);
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(Reduction, FastNeedsWholeParameters) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    Stub model;
    mesh::ShardedParameters store(Training::borrowed(c), {"embed"});
    store.adopt(model.parameters());
    make_reducer("fast", Training::borrowed(c), model.parameters(), &store);
  });
  EXPECT_THAT(
      errors,
      Each(std::string(
          "trainer.reduction: fast adds up whole gradients, but parameters are sharded over 2 workers\n"
          "hint: trainer.fsdp_axis: null, or trainer.reduction: fixed")));
}

TEST(Reduction, WholeParametersStayTheModels) {
  const auto errors = mesh::testing::run_workers({.count = 3}, [&](mesh::Communicator& c) {
    for (const std::string_view reduction : {"fixed", "fast"}) {
      Stub model;
      const auto reducer = make_reducer(reduction, Training::borrowed(c), model.parameters(), nullptr);
      EXPECT_EQ(reducer->parameters()[0].array, &model.p_);
    }
  });
  EXPECT_THAT(errors, Each(std::string()));
}

TEST(Trainer, BatchesWithoutWeightsAreSkippedAndCounted) {
  Training got({fine, no_weights, no_weights, fine});
  EXPECT_EQ(got.trainer->run(), Outcome::finished);
  EXPECT_EQ(got.trainer->next_step(), 4);
  EXPECT_EQ(got.trainer->empty_batches(), 2);
  std::vector<bool> empty;
  for (const auto& r : got.results) empty.push_back(r.empty);
  EXPECT_THAT(empty, ElementsAre(false, true, true, false));

  Training half({fine, no_weights, no_weights, fine});
  half.trainer->step();
  half.trainer->step();
  Training rest({fine, no_weights, no_weights, fine});
  rest.model.p_ = half.model.p_.clone();
  const auto before = half.optimizer->state(), after = rest.optimizer->state();
  for (std::size_t i = 0; i < before.size(); ++i)
    std::copy_n(before[i].array.data<float>(), before[i].array.numel(),
                const_cast<core::Array&>(after[i].array).data<float>());
  rest.trainer->load_state(half.trainer->save_state());
  EXPECT_EQ(rest.trainer->empty_batches(), 1);
  rest.trainer->run();
  EXPECT_EQ(rest.trainer->empty_batches(), 2);
  EXPECT_EQ(rest.values(), got.values());
  EXPECT_FALSE(Training({fine}).trainer->save_state().contains("empty_batches"));

  const auto errors = mesh::testing::run_workers({.count = 2}, [&](mesh::Communicator& c) {
    Training t({fine, no_weights, no_weights, fine}, {}, &c);
    t.trainer->run();
    EXPECT_EQ(t.trainer->empty_batches(), 2);
    for (const float x : t.values()) EXPECT_EQ(x, got.values()[0]);
  });
  EXPECT_THAT(errors, Each(std::string()));
}

}  // namespace
}  // namespace bora::train
