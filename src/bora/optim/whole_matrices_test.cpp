// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// An optimizer that needs whole matrices has the bits of one worker, wherever its parameters lie.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/reduce.h"
#include "bora/core/shard.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/sharded_parameters.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/optim/adam.h"
#include "bora/optim/sgd.h"
#include "bora/optim/step_parts.h"
#include "bora/optim/test_parameters.h"

namespace bora::optim {
namespace {

using core::Array;
using core::Binary;
using mesh::Communicator;
using mesh::testing::borrowed;
using Names = std::vector<std::string_view>;

Array scaled(const Array& x, const Names& names, double factor) {
  return core::binary(Binary::multiply, {x, names}, factor);
}

Array sum(const Array& x, const Array& y, const Names& names) {
  return core::binary(Binary::add, {x, names}, {y, names}, names);
}

// Newton and Schulz's iteration towards the nearest matrix with orthogonal rows or columns, with the numbers
// of Muon (Jordan et al. 2024): singular values come near to 1.
Array orthogonalised(const Array& matrix, const Names& names) {
  const auto sizes = matrix.sizes();
  const std::size_t narrow = sizes[0] <= sizes[1] ? 0 : 1;
  const std::string_view row = names[narrow];
  Names turned = names;  // the same matrix, its shorter axis called "other"
  turned[narrow] = "other";
  const auto square = core::unary(core::Unary::square, {matrix, names});
  const double norm = std::sqrt(core::reduce(core::Reduction::sum, {square, names}, names).item());
  Array x = scaled(matrix, names, 1 / (norm + 1e-8));
  const Names gram_names{row, "other"}, first{row, "between"}, second{"between", "other"};
  for (int step = 0; step < 5; ++step) {
    const auto gram = core::dot({x, names}, {x, turned}, gram_names);
    const auto squared = core::dot({gram, first}, {gram, second}, gram_names);
    const auto factor =
        sum(scaled(gram, gram_names, -4.7750), scaled(squared, gram_names, 2.0315), gram_names);
    x = sum(scaled(x, names, 3.4445), core::dot({factor, gram_names}, {x, turned}, names), names);
  }
  return x;
}

// Momentum, orthogonalised where a parameter is the matrix of a linear map.
class Orthogonal : public Optimizer {
 public:
  explicit Orthogonal(std::span<const core::Parameter> parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& p = parameters[i];
      momentum_.push_back(core::zeros({p.axes, p.array->sizes()}));
      if (p.axes.size() == 2 && p.inputs.size() == 1) matrices_.push_back(i);
    }
  }

  StepReport step(std::span<const core::Parameter> parameters, std::span<const Array> gradients,
                  const StepInfo& info) override {
    const auto change = [&](std::size_t i, const Array& by) {
      float* p = core::local_data<float>(*parameters[i].array);
      for (std::int64_t k = 0; k < by.numel(); ++k)
        p[k] -= static_cast<float>(info.learning_rate) * core::local_data<float>(by)[k];
    };
    for (std::size_t i = 0; i < momentum_.size(); ++i) {
      float* m = core::local_data<float>(momentum_[i]);
      for (std::int64_t k = 0; k < momentum_[i].numel(); ++k)
        m[k] = 0.95F * m[k] + core::local_data<float>(gradients[i])[k];
      if (std::find(matrices_.begin(), matrices_.end(), i) == matrices_.end()) change(i, momentum_[i]);
    }
    whole_matrices(info).transform(
        matrices_, [&](std::size_t i) { return momentum_[i]; },
        [&](std::size_t i, const Array& whole) {
          ++computed;
          return orthogonalised(whole, parameters[i].axes);
        },
        change);
    return {};
  }
  std::vector<NamedArray> state() const override { return {}; }
  Json save_state() const override { return nullptr; }
  void load_state(const Json&, std::int64_t) override {}

  int computed = 0;

 private:
  std::vector<Array> momentum_;
  std::vector<std::size_t> matrices_;
};

struct Made {
  const char* path;
  Names names, inputs;
  std::vector<std::int64_t> sizes;
};

// Axes that 3 and 4 workers do not divide, one that 2 do, and arrays that no worker has a part of.
const std::vector<Made>& made() {
  static const std::vector<Made> all = {
      {"table", {"vocab", "embed"}, {}, {7, 10}},         {"up", {"mlp", "embed"}, {"embed"}, {12, 10}},
      {"down", {"embed", "mlp"}, {"mlp"}, {10, 12}},      {"mix", {"heads", "mlp"}, {"mlp"}, {5, 12}},
      {"square", {"embed", "heads"}, {"heads"}, {10, 5}}, {"norm", {"embed"}, {}, {10}}};
  return all;
}

Array values(std::size_t i, std::int64_t step) {
  const auto& m = made()[i];
  std::int64_t n = 1;
  for (const auto size : m.sizes) n *= size;
  const auto key =
      Key::from_seed(7).fold(static_cast<std::uint64_t>(i)).fold(static_cast<std::uint64_t>(step));
  std::vector<float> out(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<float>(2 * key.uniform(k) - 1);
  return core::from_data({m.names, m.sizes}, std::span<const float>(out));
}

struct Layout {
  mesh::MeshShape shape;
  bool sharded = true;
};

// The workers' part of a run, and the model that all of them have at its end.
class Run {
 public:
  Run(Communicator& all, const Layout& layout)
      : mesh_(borrowed(all), layout.shape, {{{"mlp", "model"}}, {{"mlp", "model"}}, 0}),
        scope_(mesh_.mapping()) {
    for (std::size_t i = 0; i < made().size(); ++i) {
      arrays_.push_back(values(i, 0));
      core::place_parameter(arrays_.back(), made()[i].names);
    }
    for (std::size_t i = 0; i < made().size(); ++i)
      model_.push_back({.path = made()[i].path,
                        .axes = made()[i].names,
                        .inputs = made()[i].inputs,
                        .array = &arrays_[i]});
    if (layout.sharded) {
      store_ = std::make_unique<mesh::ShardedParameters>(mesh_.lanes(), std::vector<std::string>{"embed"},
                                                         layout.shape.replica);
      store_->adopt(model_);
    }
    whole_.emplace(mesh_.lanes(), store_.get(), model_);
  }

  void train(std::int64_t steps) {
    const auto parameters = store_ ? store_->shards() : model_;
    Orthogonal optimizer(parameters);
    for (std::int64_t step = 1; step <= steps; ++step) {
      std::vector<Array> gradients;
      for (std::size_t i = 0; i < made().size(); ++i) gradients.push_back(own_part(i, values(i, step)));
      optimizer.step(parameters, gradients, {.learning_rate = 0.1, .whole_arrays = &*whole_});
    }
    computed = optimizer.computed;
    if (store_) store_->release();
  }

  // On worker 0.
  std::vector<std::vector<float>> result() {
    std::vector<std::vector<float>> out;
    const auto parameters = store_ ? store_->shards() : model_;
    for (std::size_t i = 0; i < made().size(); ++i) {
      const auto of_lane = store_ ? store_->assemble(i, *parameters[i].array, 0) : *parameters[i].array;
      if (mesh_.lanes()->rank() != 0) continue;
      out.push_back(core::whole({core::like(arrays_[i], of_lane), made()[i].names}).to_vector<float>());
    }
    return out;
  }

  // That each element of this worker's shards stands in the whole array where it says.
  void expect_places() const {
    for (std::size_t i = 0; i < made().size(); ++i) {
      const auto& m = made()[i];
      std::vector<float> counted(static_cast<std::size_t>(values(i, 0).numel()));
      for (std::size_t k = 0; k < counted.size(); ++k) counted[k] = static_cast<float>(k);
      const auto shard = own_part(i, core::from_data({m.names, m.sizes}, std::span<const float>(counted)));
      const auto place = whole_->place(i);
      const auto mine = core::local_vector<float>(shard);
      for (std::size_t k = 0; k < mine.size(); ++k) {
        const auto at = static_cast<std::int64_t>(k);
        ASSERT_EQ(place.of(at), static_cast<std::int64_t>(mine[k])) << m.path << " " << k;
        const auto run = place.run(at, std::ssize(mine) - at);
        ASSERT_GE(run, 1);
        for (std::int64_t r = 1; r < run; ++r) ASSERT_EQ(place.of(at + r), place.of(at) + r) << m.path;
      }
    }
  }

  // Steps of an optimizer whose state is bf16.
  template <class T>
  void train_in_bf16(std::int64_t steps) {
    const auto parameters = store_ ? store_->shards() : model_;
    typename T::Config config;
    config.state_dtype = core::DType::bf16;
    config.max_grad_norm.reset();
    T optimizer(config, parameters);
    for (std::int64_t step = 1; step <= steps; ++step) {
      std::vector<Array> gradients;
      for (std::size_t i = 0; i < made().size(); ++i) gradients.push_back(own_part(i, values(i, step)));
      optimizer.step(
          parameters, gradients,
          {.step = step, .learning_rate = 0.1, .gradient_norm = 1, .whole_arrays = &*whole_, .key = {1, 2}});
    }
    if (store_) store_->release();
  }

  int computed = 0;

 private:
  // As a gradient reducer leaves a gradient.
  Array own_part(std::size_t i, Array gradient) const {
    core::place_parameter(gradient, made()[i].names);
    const core::MappingScope plain(nullptr);
    return store_ ? store_->shard_of(i, gradient) : gradient;
  }

  mesh::Mesh mesh_;
  core::MappingScope scope_;
  std::vector<Array> arrays_;
  std::vector<core::Parameter> model_;
  std::unique_ptr<mesh::ShardedParameters> store_;
  std::optional<mesh::WholeArrays> whole_;
};

constexpr std::int64_t kSteps = 5;

std::vector<std::vector<float>> trained(const Layout& layout, std::vector<int>* computed = nullptr) {
  std::mutex mutex;
  std::vector<std::vector<float>> out;
  std::vector<int> counts(static_cast<std::size_t>(layout.shape.workers()));
  const auto errors = mesh::testing::run_workers({.count = layout.shape.workers()}, [&](Communicator& all) {
    Run run(all, layout);
    run.train(kSteps);
    auto result = run.result();
    const std::lock_guard lock(mutex);
    counts[static_cast<std::size_t>(all.rank())] = run.computed;
    if (all.rank() == 0) out = std::move(result);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
  if (computed != nullptr) *computed = counts;
  return out;
}

void expect_like_one(const Layout& layout) {
  static const auto one = trained({.shape = {}, .sharded = false});
  ASSERT_EQ(one.size(), made().size());
  EXPECT_EQ(trained(layout), one) << layout.shape.text() << (layout.sharded ? ", sharded" : "");
}

TEST(WholeMatrices, OrthogonalisedSingularValuesAreNearOne) {
  const auto x = values(1, 0);
  const Names names = made()[1].names, turned{"mlp", "other"};
  const auto u = orthogonalised(x, names);
  const auto gram = core::dot({u, names}, {u, turned}, Names{"embed", "other"}).to_vector<float>();
  double trace = 0;
  for (std::size_t k = 0; k < 10; ++k) trace += gram[k * 10 + k];
  EXPECT_GT(trace, 10 * 0.5);
  EXPECT_LT(trace, 10 * 1.5);
  for (std::size_t k = 0; k < 100; ++k) {
    if (k % 11 != 0) {
      EXPECT_LT(std::abs(gram[k]), 0.5) << k;
    }
  }
}

TEST(WholeMatrices, OneWorkerIsThePlainWay) {  // without a word of workers
  std::vector<Array> arrays;
  std::vector<core::Parameter> parameters;
  for (std::size_t i = 0; i < made().size(); ++i) arrays.push_back(values(i, 0));
  for (std::size_t i = 0; i < made().size(); ++i)
    parameters.push_back(
        {.path = made()[i].path, .axes = made()[i].names, .inputs = made()[i].inputs, .array = &arrays[i]});
  Orthogonal optimizer(parameters);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    std::vector<Array> gradients;
    for (std::size_t i = 0; i < made().size(); ++i) gradients.push_back(values(i, step));
    optimizer.step(parameters, gradients, {.learning_rate = 0.1});
  }
  std::vector<std::vector<float>> plain;
  for (const auto& a : arrays) plain.push_back(a.to_vector<float>());
  EXPECT_EQ(plain, trained({.shape = {}, .sharded = false}));
}

TEST(WholeMatrices, FullySharded) {
  for (const int workers : {2, 3, 4}) expect_like_one({.shape = {.data = workers}});
}

TEST(WholeMatrices, ReplicasOfShards) { expect_like_one({.shape = {.replica = 2, .data = 2}}); }

TEST(WholeMatrices, WholeOnEachWorker) {
  for (const int workers : {2, 3}) expect_like_one({.shape = {.data = workers}, .sharded = false});
}

TEST(WholeMatrices, TensorParallel) {
  expect_like_one({.shape = {.model = 2}, .sharded = false});
  expect_like_one({.shape = {.model = 4}, .sharded = false});
}

TEST(WholeMatrices, TensorParallelAndSharded) {
  expect_like_one({.shape = {.data = 2, .model = 2}});
  expect_like_one({.shape = {.data = 3, .model = 2}});
}

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {.shape = {.data = 2}},
      {.shape = {.data = 3}},
      {.shape = {.data = 4}},
      {.shape = {.replica = 2, .data = 2}},
      {.shape = {.data = 2}, .sharded = false},
      {.shape = {.model = 4}, .sharded = false},
      {.shape = {.data = 3, .model = 2}},
  };
  return all;
}

TEST(WholeIndex, SaysWhereShardsStand) {
  for (const auto& layout : layouts()) {
    SCOPED_TRACE(layout.shape.text());
    const auto errors = mesh::testing::run_workers({.count = layout.shape.workers()}, [&](Communicator& all) {
      optim::Run(all, layout).expect_places();
    });
    for (const auto& e : errors) EXPECT_EQ(e, "");
  }
}

// State in bf16 is rounded by chance, and the chance is that of an element in the whole array.
template <class T>
void expect_bits_of_one_in_bf16() {
  std::mutex mutex;
  std::vector<std::vector<float>> out;
  const auto result = [&](const Layout& layout) {
    const auto errors = mesh::testing::run_workers({.count = layout.shape.workers()}, [&](Communicator& all) {
      Run run(all, layout);
      run.train_in_bf16<T>(kSteps);
      auto here = run.result();
      const std::lock_guard lock(mutex);
      if (all.rank() == 0) out = std::move(here);
    });
    for (const auto& e : errors) EXPECT_EQ(e, "");
    return out;
  };
  const auto one = result({.shape = {}, .sharded = false});
  ASSERT_EQ(one.size(), made().size());
  for (const auto& layout : layouts()) EXPECT_EQ(result(layout), one) << layout.shape.text();
}
TEST(Bf16State, AdamHasTheBitsOfOneWorker) { expect_bits_of_one_in_bf16<Adam>(); }
TEST(Bf16State, SgdHasTheBitsOfOneWorker) { expect_bits_of_one_in_bf16<Sgd>(); }

TEST(WholeMatrices, WorkersShareTheComputation) {
  std::vector<int> computed;
  trained({.shape = {.data = 3}}, &computed);
  EXPECT_EQ(computed, (std::vector<int>{2 * kSteps, kSteps, kSteps})) << "of four matrices";
  trained({.shape = {.data = 4}, .sharded = false}, &computed);
  EXPECT_EQ(computed, (std::vector<int>{kSteps, kSteps, kSteps, kSteps}));
}

// A store has all parameters of the model, an optimizer those that are trained.
TEST(WholeMatrices, AreCountedAsTheOptimizersParameters) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [](Communicator& all) {
    std::vector<Array> arrays;
    std::vector<core::Parameter> model;
    for (std::size_t i = 0; i < made().size(); ++i) arrays.push_back(values(i, 0));
    for (std::size_t i = 0; i < made().size(); ++i)
      model.push_back({.path = made()[i].path, .axes = made()[i].names, .array = &arrays[i]});
    mesh::ShardedParameters store(borrowed(all), {"embed"});
    store.adopt(model);
    const auto shards = store.shards();
    const std::vector<std::size_t> places{4, 2}, which{0, 1};  // of two parameters, in another order
    const mesh::WholeArrays whole(borrowed(all), &store, {model[4], model[2]});
    whole.transform(
        which, [&](std::size_t i) { return *shards[places[i]].array; },
        [&](std::size_t i, const Array& x) {
          EXPECT_EQ(x.to_vector<float>(), values(places[i], 0).to_vector<float>());
          return x;
        },
        [&](std::size_t i, const Array& block) {
          EXPECT_EQ(block.to_vector<float>(), shards[places[i]].array->to_vector<float>());
        });
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

TEST(WholeMatrices, AnotherShapeIsAnError) {
  auto a = values(1, 0);
  const std::vector<core::Parameter> parameters = {
      {.path = "up", .axes = {"mlp", "embed"}, .inputs = {"embed"}, .array = &a}};
  const mesh::WholeArrays whole(mesh::make_self_communicator(), nullptr, parameters);
  const std::vector<std::size_t> which{0};
  EXPECT_EQ(error_of([&] {
              whole.transform(
                  which, [&](std::size_t) { return a; },
                  [](std::size_t, const Array&) { return values(2, 0); }, [](std::size_t, const Array&) {});
            }),
            "whole arrays: array up has sizes [12, 10], but what was computed from it has [10, 12]\n"
            "hint: return an array of the same shape");
}

TEST(WholeMatrices, AStepWithoutThemOnSeveralWorkersIsAnError) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [](Communicator& all) {
    const mesh::Mesh mesh(borrowed(all), {.model = 2}, {{{"mlp", "model"}}, {{"mlp", "model"}}, 0});
    const core::MappingScope scope(mesh.mapping());
    const std::vector<std::size_t> which{0};
    whole_matrices({}).transform(
        which, [](std::size_t) { return values(1, 0); }, [](std::size_t, const Array& x) { return x; },
        [](std::size_t, const Array&) {});
  });
  for (const auto& e : errors)
    EXPECT_EQ(
        e,
        "whole arrays: made for one worker, but 2 share a lane here\nhint: give the step the whole arrays "
        "of its gradient reducer");
}

TEST(WholeMatrices, AStepWithoutThemOnBlocksIsAnError) {
  const auto errors = mesh::testing::run_workers({.count = 2}, [](Communicator& all) {
    mesh::ShardedParameters store(borrowed(all), {"embed"});
    const core::ParameterStoreScope scope(store);
    const std::vector<std::size_t> which{0};
    whole_matrices({}).transform(
        which, [](std::size_t) { return values(1, 0); }, [](std::size_t, const Array& x) { return x; },
        [](std::size_t, const Array&) {});
  });
  for (const auto& e : errors)
    EXPECT_EQ(e,
              "whole arrays: made for one worker, but parameters are in shards over 2 here\n"
              "hint: give the step the whole arrays of its gradient reducer");
}

}  // namespace
}  // namespace bora::optim
