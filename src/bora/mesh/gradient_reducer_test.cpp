// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/gradient_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "bora/base/trace.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/reduce.h"
#include "bora/mesh/sharded_parameters.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using ::testing::Each;
using ::testing::Eq;
using ::testing::FloatNear;
using ::testing::Pointwise;
using testing::run_workers;

constexpr std::string_view kTable[] = {"vocab", "embed"}, kBias[] = {"mlp"};

// Lanes whose sum depends on the order of additions.
core::Array values_of(core::Names names, std::vector<std::int64_t> sizes, std::int64_t lane) {
  const auto n = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(std::ldexp(std::sin(static_cast<float>(7 * lane + i)), static_cast<int>(lane * 5 % 17)));
  return core::from_data({names, sizes}, std::span<const float>(values));
}
core::Array table_gradient(std::int64_t lane) { return values_of(kTable, {3, 5}, lane); }
core::Array bias_gradient(std::int64_t lane) { return values_of(kBias, {4}, lane + 100); }

core::Array dot(const core::Array& a, const core::Array& b, core::Names names) {
  const auto product = core::binary(core::Binary::multiply, {a, names}, {b, names}, names);
  return core::reduce(core::Reduction::sum, {product, names}, names);
}

// A table [vocab=3, embed=5] and a bias [mlp=4]; a lane's loss has the gradients above.
struct Model {
  core::Array table = values_of(kTable, {3, 5}, 50), bias = values_of(kBias, {4}, 60);
  std::vector<core::Parameter> parameters() {
    return {{.id = 0,
             .path = "table",
             .axes = {"vocab", "embed"},
             .trainable = core::trainable(table),
             .array = &table},
            {.id = 1, .path = "bias", .axes = {"mlp"}, .array = &bias}};
  }
  LaneLoss loss(std::int64_t lane) const {
    const auto a = dot(table, table_gradient(lane), kTable), b = dot(bias, bias_gradient(lane), kBias);
    const double x = 0.1 * static_cast<double>(lane);
    return {
        core::binary(core::Binary::add, {a, {}}, {b, {}}, {}), x, {{"a", 1 / (x + 3), x}, {"b/c", x * x, 1}}};
  }
};

enum class Kind { tree, fast, sharded };

// A reducer of each kind on one worker's model, whose values are there whenever a lane is computed.
struct Worker {
  Worker(Kind kind, Communicator& c, int replicas = 1, bool table_is_trained = true) {
    core::set_trainable(model.table, table_is_trained);
    const std::shared_ptr<Communicator> workers(std::shared_ptr<Communicator>(), &c);
    if (kind == Kind::tree) reducer = make_tree_reducer(workers, model.parameters());
    if (kind == Kind::fast) reducer = make_fast_reducer(workers, model.parameters());
    if (kind != Kind::sharded) return;
    store = std::make_unique<ShardedParameters>(workers, std::vector<std::string>{"embed"}, replicas);
    store->adopt(model.parameters());
    reducer = make_sharded_reducer(*store);
  }
  LaneSum reduce(std::int64_t lanes) {
    return reducer->reduce(lanes, [&](std::int64_t lane) {
      computed.push_back(lane);
      hold();
      return model.loss(lane);
    });
  }
  void hold() const {
    const std::vector<core::Array> all{model.table, model.bias};
    if (store) store->hold(all);
  }

  Model model;
  std::unique_ptr<ShardedParameters> store;
  std::unique_ptr<GradientReducer> reducer;
  std::vector<std::int64_t> computed;
};

LaneSum by_the_tree(std::int64_t lanes) {
  const Model model;
  LaneTree tree(lanes, 2);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    const auto loss = model.loss(lane);
    std::vector<double> scalars{loss.loss.item(), loss.weight.value()};
    for (const auto& m : loss.metrics) scalars.insert(scalars.end(), {m.sum.value(), m.weight.value()});
    tree.push({lane, 1, {table_gradient(lane), bias_gradient(lane)}, scalars});
  }
  return tree.take_total();
}

constexpr std::int64_t kLaneCounts[] = {1, 2, 4, 8, 16};

class GradientReducers : public ::testing::TestWithParam<Kind> {};

std::string name_of(const ::testing::TestParamInfo<Kind>& row) {
  return row.param == Kind::tree ? "tree" : row.param == Kind::fast ? "fast" : "sharded";
}
INSTANTIATE_TEST_SUITE_P(Kinds, GradientReducers, ::testing::Values(Kind::tree, Kind::fast, Kind::sharded),
                         name_of);

// The fast one's order of additions is the transport's; the largest addends of a sum here are some 1e5.
TEST_P(GradientReducers, AddUpTheLanesOfAllWorkers) {
  const auto same = [](const std::vector<float>& got, const std::vector<float>& want) {
    const float tolerance = GetParam() == Kind::fast ? 0.1F : 0.F;
    EXPECT_THAT(got, Pointwise(FloatNear(tolerance), want));
  };
  for (const int count : {1, 2, 3, 4}) {
    for (const auto lanes : kLaneCounts) {
      const auto want = by_the_tree(lanes);
      const auto errors = run_workers({.count = count}, [&](Communicator& c) {
        Worker worker(GetParam(), c);
        const auto& store = worker.store;
        for (int step = 0; step < 2; ++step) {
          const auto sum = worker.reduce(lanes);
          ASSERT_EQ(sum.arrays.size(), 2U);
          same(sum.arrays[0].to_vector<float>(),
               (store ? store->shard_of(0, want.arrays[0]) : want.arrays[0]).to_vector<float>());
          same(sum.arrays[1].to_vector<float>(), want.arrays[1].to_vector<float>());
          ASSERT_EQ(sum.scalars.size(), want.scalars.size());
          for (std::size_t i = 0; i < want.scalars.size(); ++i)
            EXPECT_NEAR(sum.scalars[i], want.scalars[i], GetParam() == Kind::fast ? 1e-6 : 0);
          const auto metrics = worker.reducer->metrics_of(sum);
          ASSERT_EQ(metrics.size(), 2U);
          EXPECT_EQ(metrics[1], (MetricSum{"b/c", sum.scalars[4], sum.scalars[5]}));
        }
      });
      EXPECT_THAT(errors, Each(Eq(""))) << count << " workers, " << lanes << " lanes";
    }
  }
}

// On each of `count` workers, of which one computes lanes of the metrics that `names` says.
std::vector<std::string> errors_of_metrics(
    Kind kind, int count, const std::function<std::string(int rank, std::int64_t lane)>& name) {
  return run_workers({.count = count}, [&](Communicator& c) {
    Worker worker(kind, c);
    worker.reducer->reduce(4, [&](std::int64_t lane) {
      worker.hold();
      auto loss = worker.model.loss(lane);
      loss.metrics[0].name = name(c.rank(), lane);
      return loss;
    });
  });
}

TEST_P(GradientReducers, MetricsThatDifferAreErrors) {
  EXPECT_EQ(
      errors_of_metrics(GetParam(), 1, [](int, std::int64_t lane) { return lane == 2 ? "x" : "a"; })[0],
      "metrics: one lane has a, b/c and another x, b/c\nhint: a model gives the same metrics, in one order, "
      "for every batch");
  EXPECT_THAT(
      errors_of_metrics(GetParam(), 2, [](int rank, std::int64_t) { return rank == 1 ? "x" : "a"; }),
      Each(Eq("metrics: rank 0 has a, b/c and rank 1 x, b/c\nhint: a model gives the same metrics, in one "
              "order, on every rank")));
}

TEST_P(GradientReducers, OwnEachLaneOnce) {
  for (int count = 1; count <= 9; ++count) {
    std::mutex mutex;
    std::map<std::int64_t, std::vector<std::int64_t>> owners;  // of each lane, by their number
    const auto errors = run_workers({.count = count}, [&](Communicator& c) {
      const Worker worker(GetParam(), c);
      const std::lock_guard lock(mutex);
      for (const auto lanes : kLaneCounts) {
        owners[lanes].resize(static_cast<std::size_t>(lanes));
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          owners[lanes][static_cast<std::size_t>(lane)] += worker.reducer->owns(lane, lanes) ? 1 : 0;
      }
    });
    EXPECT_THAT(errors, Each(Eq("")));
    for (const auto lanes : kLaneCounts)
      EXPECT_THAT(owners[lanes], Each(Eq(1))) << count << " workers, " << lanes << " lanes";
  }
}

// What a worker without a lane computes beside the others is not counted, and it owns nothing of it.
TEST_P(GradientReducers, AWorkerComputesTheLanesThatItOwns) {
  const auto errors = run_workers({.count = 3}, [&](Communicator& c) {
    for (const auto lanes : kLaneCounts) {
      Worker worker(GetParam(), c);
      worker.reduce(lanes);
      std::set<std::int64_t> own;
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        if (worker.reducer->owns(lane, lanes)) own.insert(lane);
      const std::set<std::int64_t> computed(worker.computed.begin(), worker.computed.end());
      if (own.empty() && GetParam() == Kind::sharded)
        EXPECT_EQ(computed.size(), 1U) << lanes << " lanes";
      else
        EXPECT_EQ(computed, own) << lanes << " lanes";
    }
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

TEST_P(GradientReducers, GiveTheParametersThatAreThisWorkers) {
  const auto errors = run_workers({.count = 2}, [&](Communicator& c) {
    Worker worker(GetParam(), c);
    const auto& parameters = worker.reducer->parameters();
    ASSERT_EQ(parameters.size(), 2U);
    EXPECT_EQ(parameters[0].path, "table");
    EXPECT_EQ(&worker.reducer->workers(), &c);
    const auto shard_ranks = worker.reducer->shard_ranks();
    if (GetParam() == Kind::sharded) {
      EXPECT_EQ(parameters[0].array->sizes(), (std::vector<std::int64_t>{3, c.rank() == 0 ? 2 : 3}));
      ASSERT_EQ(shard_ranks.size(), 1U);
      EXPECT_EQ(shard_ranks[0].cut, (std::vector<bool>{true, false}));
    } else {
      EXPECT_EQ(parameters[0].array, &worker.model.table);
      EXPECT_TRUE(shard_ranks.empty());
    }
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

// The bias gets the same gradient whether or not the table has one; the table's values are there all the
// same.
TEST_P(GradientReducers, LeaveFrozenParametersOut) {
  const auto want = by_the_tree(4);
  for (const int count : {1, 2, 3}) {
    const auto errors = run_workers({.count = count}, [&](Communicator& c) {
      Worker worker(GetParam(), c, 1, false);
      ASSERT_EQ(worker.reducer->parameters().size(), 1U);
      EXPECT_EQ(worker.reducer->parameters()[0].path, "bias");
      for (const auto& shard_ranks : worker.reducer->shard_ranks())
        EXPECT_EQ(shard_ranks.cut, std::vector<bool>{false});
      const auto sum = worker.reduce(4);
      ASSERT_EQ(sum.arrays.size(), 1U);
      const float tolerance = GetParam() == Kind::fast ? 0.1F : 0.F;
      EXPECT_THAT(sum.arrays[0].to_vector<float>(),
                  Pointwise(FloatNear(tolerance), want.arrays[1].to_vector<float>()));
    });
    EXPECT_THAT(errors, Each(Eq(""))) << count << " workers";
  }
}

TEST(ShardedReducer, ReplicasChangeNoBit) {
  struct Case {
    int workers, replicas;
    std::int64_t lanes;
  };
  for (const auto& [workers, replicas, lanes] :
       std::vector<Case>{{2, 2, 4}, {4, 2, 4}, {4, 4, 4}, {4, 2, 2}, {6, 2, 8}, {6, 3, 8}, {6, 2, 16}}) {
    const auto want = by_the_tree(lanes);
    const auto errors = run_workers({.count = workers}, [&, r = replicas, n = lanes](Communicator& c) {
      Worker worker(Kind::sharded, c, r);
      const auto sum = worker.reduce(n);
      EXPECT_EQ(sum.scalars, want.scalars);
      EXPECT_EQ(sum.arrays[1].to_vector<float>(), want.arrays[1].to_vector<float>());
      EXPECT_EQ(sum.arrays[0].to_vector<float>(),
                worker.store->shard_of(0, want.arrays[0]).to_vector<float>());
    });
    EXPECT_THAT(errors, Each(Eq(""))) << workers << " workers, " << replicas << " replicas, " << lanes;
  }
}

// Within a replica the other holder's piece of a block; between replicas one sum of a block.
TEST(ShardedReducer, ReplicasSendEachOtherSumsOfBlocks) {
  const auto received = [](int replicas) {
    std::int64_t bytes = 0;
    const auto errors = run_workers({.count = 4}, [&](Communicator& c) {
      Worker worker(Kind::sharded, c, replicas);
      worker.hold();
      c.barrier();
      if (c.rank() == 0) trace::start();
      c.barrier();
      const auto sum = worker.reducer->reduce(4, [&](std::int64_t lane) {
        return LaneLoss{dot(worker.model.table, table_gradient(lane), kTable), 1};
      });
      EXPECT_TRUE(sum.arrays[1].empty());
      c.barrier();
      if (c.rank() != 0) return;
      for (const auto& thread : trace::stop())
        for (const auto& event : thread.events)
          if (thread.name == "messages") bytes += event.value;
    });
    EXPECT_THAT(errors, Each(Eq("")));
    return bytes / 4;
  };
  constexpr std::int64_t kTableFloats = 15;
  EXPECT_EQ(received(1), 3 * kTableFloats);
  EXPECT_EQ(received(2), 2 * kTableFloats + 2 * kTableFloats);
  EXPECT_EQ(received(4), 4 * 3 * kTableFloats);
}

}  // namespace
}  // namespace bora::mesh
