// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// Steps of a model of which a part is frozen, or that has adapters: the same bits for any number of workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>

#include "bora/base/path_pattern.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/sharded_parameters.h"
#include "bora/mesh/test_communicator.h"
#include "bora/nn/lora.h"
#include "bora/nn/stacked.h"
#include "bora/optim/adam.h"

namespace bora::train {
namespace {

using mesh::Communicator;
using mesh::testing::run_workers;
using ::testing::Each;
using ::testing::Eq;

struct Batch : axis<"batch"> {};
struct Embed : axis<"embed"> {};
struct Mlp : axis<"mlp"> {};
using Hidden = Named<Batch, Embed>;

struct Block {
  nn::Linear<Embed, Mlp> up;
  nn::Linear<Mlp, Embed> down;
  using fields = Fields<&Block::up, &Block::down>;
  Hidden operator()(const Hidden& x, const nn::Context& /*context*/) const { return x + down(tanh(up(x))); }
};
struct Model {
  nn::Stacked<Block> layers;
  using fields = Fields<&Model::layers>;
};

Model make_model() {
  Model model;
  for (std::uint64_t i = 0; i < 2; ++i) {
    const auto key = Key::from_seed(1).fold(i);
    model.layers.blocks.push_back(
        {nn::Linear<Embed, Mlp>::init(Dim<Embed>{6}, Dim<Mlp>{8}, key.fold("up"), 0.5),
         nn::Linear<Mlp, Embed>::init(Dim<Mlp>{8}, Dim<Embed>{6}, key.fold("down"), 0.5)});
  }
  return model;
}

// What is done to a model before it is trained.
using Prepare = std::function<void(Model&)>;

void freeze_a_part(Model& model) {
  for (auto& p : parameters(model))
    if (path_matches("layers.0", p.path) || path_matches("*.bias", p.path))
      core::set_trainable(*p.array, false);
}
void adapt(Model& model) {
  nn::attach_lora(model, {.modules = {"*.up", "layers.1.down"}, .rank = 2}, Key::from_seed(5));
}

mesh::LaneLoss loss_of(const Model& model, std::int64_t lane) {
  const auto key = Key::from_seed(7).fold(static_cast<std::uint64_t>(lane));
  const auto x = random_normal(key, 0, 1, Dim<Batch>{3}, Dim<Embed>{6});
  return {mean_all(square(model.layers(x, nn::Context{}))).array(), 1};
}

using Values = std::map<std::string, std::vector<float>>;

void train(const Model& model, mesh::GradientReducer& reducer) {
  optim::AdamConfig config;
  config.learning_rate = 0.05;
  config.weight_decay = 0.1;
  const auto& trained = reducer.parameters();
  optim::Adam optimizer(config, trained);
  EXPECT_EQ(optimizer.state().size(), 2 * trained.size());
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto sum = reducer.reduce(4, [&](std::int64_t lane) { return loss_of(model, 4 * step + lane); });
    EXPECT_EQ(sum.arrays.size(), trained.size());
    optimizer.step(trained, sum.arrays, {.step = step, .learning_rate = 0.05, .gradient_norm = 0.5});
  }
}

// Every parameter after training whole on each of `workers`, or sharded over them.
Values trained_by(int workers, bool sharded, const Prepare& prepare) {
  std::mutex mutex;
  Values out;
  const auto errors = run_workers({.count = workers}, [&](Communicator& c) {
    const std::shared_ptr<Communicator> all(std::shared_ptr<Communicator>(), &c);
    mesh::ShardedParameters store(all, {"embed"});
    std::optional<core::ParameterStoreScope> scope;
    if (sharded) scope.emplace(store);
    Model model = make_model();
    prepare(model);
    if (sharded) store.adopt(parameters(model));
    const auto reducer =
        sharded ? mesh::make_sharded_reducer(store) : mesh::make_tree_reducer(all, parameters(model));
    train(model, *reducer);
    const auto held = sharded ? store.shards() : parameters(model);
    for (std::size_t i = 0; i < held.size(); ++i) {
      const auto whole = sharded ? store.assemble(i, *held[i].array, 0) : *held[i].array;
      const std::lock_guard lock(mutex);
      if (c.rank() == 0) out[held[i].path] = whole.to_vector<float>();
    }
  });
  EXPECT_THAT(errors, Each(Eq("")));
  return out;
}

Values trained_over_model_axis(const Prepare& prepare) {
  std::mutex mutex;
  Values out;
  const std::vector<core::AxisRule> rules{{"mlp", "model"}};
  const auto errors = run_workers({.count = 2}, [&](Communicator& c) {
    const mesh::Mesh mesh({std::shared_ptr<Communicator>(), &c}, {.model = 2}, {rules, rules});
    const core::MappingScope scope(mesh.mapping());
    Model model = make_model();
    prepare(model);
    const auto reducer = mesh::make_tree_reducer(mesh.lanes(), parameters(model));
    train(model, *reducer);
    for (const auto& p : parameters(model)) {
      const auto whole = core::whole({*p.array, p.axes});
      const std::lock_guard lock(mutex);
      if (c.rank() == 0) out[p.path] = whole.to_vector<float>();
    }
  });
  EXPECT_THAT(errors, Each(Eq("")));
  return out;
}

void expect_same_training(const Prepare& prepare) {
  const auto want = trained_by(1, false, prepare);
  for (const int workers : {1, 2, 3}) {
    EXPECT_EQ(trained_by(workers, false, prepare), want) << workers;
    EXPECT_EQ(trained_by(workers, true, prepare), want) << workers << " sharded";
  }
  const auto over_model = trained_over_model_axis(prepare);
  ASSERT_EQ(over_model.size(), want.size());
  for (const auto& [path, values] : want)
    EXPECT_THAT(over_model.at(path), ::testing::Pointwise(::testing::FloatNear(1e-5F), values)) << path;
  auto start = make_model();
  prepare(start);
  for (const auto& p : parameters(start))
    EXPECT_EQ(p.array->to_vector<float>() == want.at(p.path), !p.trainable) << p.path;
}

TEST(Frozen, TheRestTrainsWithTheSameBits) { expect_same_training(freeze_a_part); }

// B starts as zeros, so in the first step A's gradient is zero; after three both have moved.
TEST(Frozen, AdaptersTrainWithTheSameBits) { expect_same_training(adapt); }

}  // namespace
}  // namespace bora::train
