// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/sharded_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "bora/core/create.h"
#include "bora/core/host_view.h"
#include "bora/core/step_ops.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using testing::borrowed;

constexpr std::string_view kTableAxes[] = {"vocab", "embed"}, kBiasAxis[] = {"mlp"};

core::Array counted(core::Names names, std::vector<std::int64_t> sizes, float first) {
  const auto n = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), first);
  return core::from_data({names, sizes}, std::span<const float>(values));
}

// A table [vocab=3, embed=5], cut along embed, and a bias that is not.
struct CutModel {
  core::Array table = counted(kTableAxes, {3, 5}, 0), bias = counted(kBiasAxis, {4}, 100);
  std::vector<core::Parameter> parameters() {
    return {{.id = 0, .path = "table", .axes = {"vocab", "embed"}, .array = &table},
            {.id = 1, .path = "bias", .axes = {"mlp"}, .array = &bias}};
  }
};

void expect_no_errors(const std::vector<std::string>& errors) {
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

TEST(AxisCut, BlocksCoverTheAxis) {
  const std::vector<std::int64_t> sizes{2, 7, 3};
  const AxisCut cut(sizes, 1, 3);
  EXPECT_EQ(cut.begin(1), 2);
  EXPECT_EQ(cut.end(2), 7);
  EXPECT_EQ(cut.elements(0) + cut.elements(1) + cut.elements(2), cut.elements());
  EXPECT_EQ(cut.sizes(2), (std::vector<std::int64_t>{2, 3, 3}));
  std::vector<float> whole(42), back(42), shard(42);
  std::iota(whole.begin(), whole.end(), 0.F);
  for (int w = 0; w < 3; ++w) {
    cut.extract(w, whole.data(), shard.data());
    EXPECT_EQ(shard[0], static_cast<float>(cut.begin(w) * 3));
    cut.insert(w, shard.data(), back.data());
  }
  EXPECT_EQ(back, whole);
}

TEST(AxisCut, MoreWorkersThanTheAxisHas) {
  const std::vector<std::int64_t> sizes{2, 3};
  const AxisCut cut(sizes, 0, 4);
  std::vector<float> whole{1, 2, 3, 4, 5, 6}, back(6);
  std::int64_t elements = 0;
  for (int w = 0; w < 4; ++w) {
    std::vector<float> shard(static_cast<std::size_t>(cut.elements(w)));  // an empty one has no memory
    elements += cut.elements(w);
    cut.extract(w, whole.data(), shard.data());
    cut.insert(w, shard.data(), back.data());
  }
  EXPECT_EQ(elements, 6);
  EXPECT_EQ(back, whole);
}

TEST(AxisCut, TheFirstAxisThatIsThereIsCut) {
  const std::vector<std::string> axes{"mlp", "embed"};
  const std::vector<std::int64_t> sizes{3, 5};
  EXPECT_EQ(AxisCut::along(axes, kTableAxes, sizes, 2).dim(), 1);
  EXPECT_TRUE(AxisCut::along(axes, kTableAxes, sizes, 1).replicated());
  EXPECT_TRUE(AxisCut::along(std::span(axes).first(1), kTableAxes, sizes, 2).replicated());
}

TEST(ShardedParameters, ValuesComeAndGo) {
  expect_no_errors(testing::run_workers({.count = 2}, [](Communicator& c) {
    CutModel model;
    const auto want = model.table.to_vector<float>();
    ShardedParameters store(borrowed(c), {"embed"});
    store.adopt(model.parameters());
    EXPECT_FALSE(core::values_present(model.table));
    EXPECT_EQ(model.table.sizes(), (std::vector<std::int64_t>{3, 5}));
    EXPECT_EQ(store.shards()[0].array->sizes(), (std::vector<std::int64_t>{3, c.rank() == 0 ? 2 : 3}));
    EXPECT_EQ(store.shards()[1].array->node(), model.bias.node());

    const std::vector<core::Array> table{model.table}, bias{model.bias};
    store.need(table);
    EXPECT_EQ(model.table.to_vector<float>(), want);
    store.need(bias);  // the next block
    EXPECT_FALSE(core::values_present(model.table));

    store.hold(table);
    store.need(bias);
    EXPECT_TRUE(core::values_present(model.table));
    store.release();
    EXPECT_FALSE(core::values_present(model.table));

    store.need(table);
    store.hold(table);  // of a block that is there already
    store.need(bias);
    EXPECT_TRUE(core::values_present(model.table));
    auto twice = counted(kTableAxes, {3, 5}, 0);
    core::add_into(twice, twice.clone());
    store.release();
    store.store(0, twice);
    const auto whole = store.assemble(0, *store.shards()[0].array, 1);
    EXPECT_EQ(whole.empty(), c.rank() == 0);
    if (c.rank() == 1) {
      EXPECT_EQ(whole.to_vector<float>()[14], 28);
    }
  }));
}

TEST(ShardedParameters, NormsHaveTheBitsOfOneWorker) {
  std::vector<double> alone;
  for (const int workers : {1, 2, 3}) {
    expect_no_errors(testing::run_workers({.count = workers}, [&](Communicator& c) {
      CutModel model;
      ShardedParameters store(borrowed(c), {"embed"});
      {
        const core::HostView values(model.table, core::HostView::Use::write);
        for (std::size_t i = 0; i < 15; ++i) values.floats()[i] = std::sin(static_cast<float>(i)) * 1e-3F;
      }
      store.adopt(model.parameters());
      const std::vector<core::Array> arrays{*store.shards()[0].array, *store.shards()[1].array};
      const auto shard_ranks = store.shard_ranks();
      const auto squares = sums_of_squares(arrays, shard_ranks);
      if (workers == 1) alone = squares;
      EXPECT_EQ(squares, alone);
    }));
  }
}

TEST(ShardedParameters, ANumberThatIsNotFiniteIsSeenByAll) {
  expect_no_errors(testing::run_workers({.count = 2}, [](Communicator& c) {
    CutModel model;
    core::HostView(model.table, core::HostView::Use::update).floats()[0] =
        std::numeric_limits<float>::infinity();
    ShardedParameters store(borrowed(c), {"embed"});
    store.adopt(model.parameters());
    const std::vector<core::Array> arrays{*store.shards()[0].array, *store.shards()[1].array};
    const auto shard_ranks = store.shard_ranks();
    EXPECT_FALSE(std::isfinite(sums_of_squares(arrays, shard_ranks)[0]));
  }));
}

}  // namespace
}  // namespace bora::mesh
