// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/lane_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "bora/base/error.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/core/step_ops.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using testing::thrown_by;

constexpr std::string_view kAxis[] = {"x"};
constexpr std::int64_t kSize = 1037;

std::vector<float> lane_values(std::int64_t lane, std::size_t parameter) {
  std::vector<float> out(kSize);
  const Key key = Key::from_seed(7).fold(static_cast<std::uint64_t>(lane)).fold(parameter);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>((key.uniform(i) - 0.5) * std::pow(10.0, key.uniform(i + kSize) * 6));
  }
  return out;
}

core::Array array_of(const std::vector<float>& values) {
  const std::int64_t sizes[] = {static_cast<std::int64_t>(values.size())};
  return core::from_data({kAxis, sizes}, std::span<const float>(values));
}

// What accumulate_gradients does.
void accumulate(std::int64_t lane, std::vector<core::Array>& into) {
  for (std::size_t p = 0; p < into.size(); ++p) {
    const auto values = lane_values(lane, p);
    if (into[p].empty()) {
      into[p] = array_of(values);
    } else {
      const core::Array more = array_of(values);
      core::add_into(into[p], more);
    }
  }
}

std::vector<float> explicit_tree(std::int64_t first, std::int64_t lanes, std::size_t parameter) {
  if (lanes == 1) return lane_values(first, parameter);
  auto left = explicit_tree(first, lanes / 2, parameter);
  const auto right = explicit_tree(first + lanes / 2, lanes / 2, parameter);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

void run_lane(LaneTree& tree, std::int64_t lane) {
  accumulate(lane, tree.buffer_for(lane));
  tree.finish(lane, std::vector<double>{0.1 * static_cast<double>(lane), 1.0});
}

void expect_total(LaneTree& tree, std::int64_t lanes) {
  const LaneSum sum = tree.take_total();
  ASSERT_EQ(sum.arrays.size(), 2u);
  for (std::size_t p = 0; p < 2; ++p) {
    const auto want = explicit_tree(0, lanes, p);
    const auto got = sum.arrays[p].to_vector<float>();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0) << lanes;
  }
  EXPECT_EQ(sum.scalars[1], static_cast<double>(lanes));
}

TEST(LaneTree, EqualsTheExplicitTreeForEveryNumberOfLanes) {
  for (std::int64_t lanes = 1; lanes <= 16; lanes *= 2) {
    LaneTree tree(lanes, 2);
    for (std::int64_t lane = 0; lane < lanes; ++lane) run_lane(tree, lane);
    expect_total(tree, lanes);
  }
}

TEST(LaneTree, TheOrderOfLanesChangesNoBit) {
  std::vector<std::int64_t> order(8);
  std::iota(order.begin(), order.end(), 0);
  const Key key = Key::from_seed(3);
  for (std::uint64_t trial = 0; trial < 50; ++trial) {
    for (std::size_t i = 7; i > 0; --i) std::swap(order[i], order[key.fold(trial).below(i + 1, i)]);
    LaneTree tree(8, 2);
    for (const std::int64_t lane : order) run_lane(tree, lane);
    expect_total(tree, 8);
  }
}

TEST(LaneTree, NodesOfUnevenWorkersGiveTheSameBits) {
  for (const auto& starts :
       {std::vector<std::int64_t>{0, 3, 6, 8}, {0, 4, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 5, 8}}) {
    LaneTree total(8, 2);
    for (std::size_t w = starts.size() - 1; w-- > 0;) {
      LaneTree worker(8, 2);
      for (std::int64_t lane = starts[w]; lane < starts[w + 1]; ++lane) run_lane(worker, lane);
      for (LaneSum& node : worker.take_nodes()) total.push(std::move(node));
    }
    expect_total(total, 8);
  }
}

TEST(LaneTree, OddLanesUseTheirSiblingsBuffer) {
  LaneTree tree(4, 1);
  accumulate(0, tree.buffer_for(0));
  tree.finish(0, {});
  EXPECT_FALSE(tree.buffer_for(1)[0].empty());
  accumulate(1, tree.buffer_for(1));
  tree.finish(1, {});
  EXPECT_TRUE(tree.buffer_for(2)[0].empty());
}

TEST(LaneTree, KeepsAtMostLog2PlusOneSets) {
  LaneTree tree(16, 1);
  for (std::int64_t lane = 0; lane < 15; ++lane) run_lane(tree, lane);
  const auto nodes = tree.take_nodes();  // 8 + 4 + 2 + 1
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].lanes, 8);
  EXPECT_EQ(nodes[3].first, 14);
}

TEST(LaneTree, ArraysThatNoLaneTouchesStayEmpty) {
  LaneTree tree(2, 1);
  tree.buffer_for(0);
  tree.finish(0, {});
  accumulate(1, tree.buffer_for(1));
  tree.finish(1, {});
  EXPECT_EQ(tree.take_total().arrays[0].numel(), kSize);
}

TEST(LaneTree, Errors) {
  EXPECT_EQ(thrown_by([] { LaneTree(6, 1); }),
            "lane tree: the number of lanes must be a power of two, not 6");
  LaneTree tree(4, 1);
  EXPECT_EQ(thrown_by([&] { tree.buffer_for(4); }), "lane tree: lane 4 is not among the 4 lanes");
  EXPECT_EQ(thrown_by([&] { tree.finish(1, {}); }), "lane tree: lane 1 finished without a buffer");
  run_lane(tree, 0);
  EXPECT_EQ(thrown_by([&] { tree.buffer_for(0); }), "lane tree: lane 0 came twice");
  tree.buffer_for(2);
  EXPECT_EQ(thrown_by([&] { tree.buffer_for(3); }), "lane tree: lane 3 begins before lane 2 has finished");
  EXPECT_EQ(thrown_by([&] { tree.take_total(); }), "lane tree: 1 of 4 lanes have finished");
  EXPECT_EQ(thrown_by([&] { tree.push({1, 2, {core::Array()}, {}}); }),
            "lane tree: 2 lanes from lane 1 with 1 arrays are no node of 4 lanes with 1");
  tree.finish(2, std::vector<double>{1, 2});
  tree.buffer_for(3);
  EXPECT_EQ(thrown_by([&] { tree.finish(3, std::vector<double>{1}); }),
            "lane tree: 2 scalars in one lane and 1 in another");
  LaneTree other(2, 1);
  other.buffer_for(0)[0] = array_of({1, 2});
  other.finish(0, {});
  EXPECT_EQ(thrown_by([&] { other.push({1, 1, {array_of({1})}, {}}); }),
            "lane tree: array 0 has 2 elements in one lane and 1 in another");
}

TEST(Communicator, SelfIsAlone) {
  const auto self = make_self_communicator();
  EXPECT_EQ(self->transport(), "self");
  EXPECT_EQ(self->rank(), 0);
  EXPECT_EQ(self->size(), 1);
  self->barrier();
  self->broadcast(0, {});
  EXPECT_EQ(thrown_by([&] { self->exchange(1, {}, {}); }),
            "exchange: there is no worker 1, this run has one worker");
  EXPECT_EQ(thrown_by([&] { self->broadcast(2, {}); }),
            "broadcast: there is no worker 2, this run has one worker");
}

}  // namespace
}  // namespace bora::mesh
