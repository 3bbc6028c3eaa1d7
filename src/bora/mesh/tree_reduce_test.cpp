// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/mesh/tree_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "bora/base/error.h"
#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/core/host_view.h"
#include "bora/core/step_ops.h"
#include "bora/core/update.h"
#include "bora/mesh/test_communicator.h"

namespace bora::mesh {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using testing::run_workers;
using testing::thrown_by;
using testing::Workers;

constexpr std::string_view kOneAxis[] = {"x"};
// Some shorter than a chunk, some of several, one empty of elements.
const std::vector<std::int64_t> kSizes = {5, 40000, 1, 16384, 0, 70001, 300};

core::Array vector_of(const std::vector<float>& values) {
  const std::int64_t sizes[] = {static_cast<std::int64_t>(values.size())};
  return core::from_data({kOneAxis, sizes}, std::span<const float>(values));
}

// Lane 3 alone touches array 2, odd lanes touch array 6, nobody touches array 3.
bool touches(std::int64_t lane, std::size_t array) {
  if (array == 2) return lane == 3;
  if (array == 6) return lane % 2 == 1;
  return array != 3;
}

core::Array lane_array(std::int64_t lane, std::size_t array) {
  const Key key = Key::from_seed(5).fold(static_cast<std::uint64_t>(lane)).fold(array);
  std::vector<float> out(static_cast<std::size_t>(kSizes[array]));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double scale = i % 3 == 0 ? 1e6 : 1e-2;
    out[i] = i % 11 == 0 ? -0.0F : static_cast<float>((key.uniform(i) - 0.5) * scale);
  }
  return vector_of(out);
}

void reduce_lane(LaneTree& tree, std::int64_t lane) {
  auto& buffer = tree.buffer_for(lane);
  for (std::size_t a = 0; a < kSizes.size(); ++a) {
    if (!touches(lane, a)) continue;
    const auto values = lane_array(lane, a);
    if (buffer[a].empty())
      buffer[a] = values;
    else
      core::add_into(buffer[a], values);
  }
  tree.finish(lane, std::vector<double>{0.1 * static_cast<double>(lane), 1.0});
}

LaneSum alone(std::int64_t lanes) {
  LaneTree tree(lanes, kSizes.size());
  for (std::int64_t lane = 0; lane < lanes; ++lane) reduce_lane(tree, lane);
  return tree.take_total();
}

LaneTree own_lanes(const Communicator& c, std::int64_t lanes) {
  LaneTree tree(lanes, kSizes.size());
  const auto own = owned_lanes(c.rank(), c.size(), lanes);
  for (std::int64_t i = 0; i < own.lanes; ++i) reduce_lane(tree, own.first + i);
  return tree;
}

bool same_bits(const core::Array& a, const core::Array& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  if (a.numel() != b.numel() || a.numel() == 0) return a.numel() == b.numel();
  const auto x = a.to_vector<float>(), y = b.to_vector<float>();
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

struct Parameters {
  std::vector<core::Array> arrays;
  std::vector<const core::Array*> pointers;
  Parameters() {
    for (const auto size : kSizes)
      arrays.push_back(vector_of(std::vector<float>(static_cast<std::size_t>(size))));
    for (const auto& a : arrays) pointers.push_back(&a);
  }
};

void expect_equal_bits(const Workers& workers, std::int64_t lanes, ReduceOptions options) {
  const auto want = alone(lanes);
  const auto errors = run_workers(workers, [&](Communicator& c) {
    const Parameters parameters;
    TreeReduce reducer(c, parameters.pointers, options);
    for (int step = 0; step < 2; ++step) {
      auto tree = own_lanes(c, lanes);
      const auto sum = reducer.reduce(tree);
      EXPECT_EQ(sum.lanes, lanes);
      EXPECT_EQ(std::memcmp(sum.scalars.data(), want.scalars.data(), 16), 0);
      for (std::size_t a = 0; a < kSizes.size(); ++a)
        EXPECT_TRUE(same_bits(sum.arrays[a], want.arrays[a]))
            << "array " << a << ", worker " << c.rank() << " of " << c.size() << ", " << lanes << " lanes";
    }
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

std::vector<std::string> hosts(int n) {
  std::vector<std::string> out;
  for (int i = 0; i < n; ++i) out.push_back(fmt::format("host{}", i / 2));
  return out;
}

TEST(TreeReduce, BitsOfOneWorkerInSharedMemory) {
  for (const int n : {1, 2, 3, 4, 5, 8}) expect_equal_bits({.count = n}, 8, {});
}

TEST(TreeReduce, BitsOfOneWorkerThroughMessages) {
  for (const int n : {2, 3, 4, 5, 8}) {
    expect_equal_bits({.count = n, .hosts = hosts(n)}, 8, {});
    expect_equal_bits({.count = n}, 8, {.shared_memory = false});
  }
}

TEST(TreeReduce, ManySmallRounds) {
  for (const int n : {2, 3, 4}) {
    expect_equal_bits({.count = n}, 8, {.buffer_bytes = 50000});
    expect_equal_bits({.count = n}, 8, {.buffer_bytes = 70004, .shared_memory = false});
  }
}

TEST(TreeReduce, AnyNumberOfLanes) {
  for (const std::int64_t lanes : {1, 2, 4, 16}) {
    expect_equal_bits({.count = 3}, lanes, {});
    expect_equal_bits({.count = 3}, lanes, {.shared_memory = false});
  }
}

TEST(TreeReduce, TheHalvesGiveAndTakeShards) {
  const auto want = alone(8);
  const auto errors = run_workers({.count = 3}, [&](Communicator& c) {
    const Parameters parameters;
    TreeReduce reducer(c, parameters.pointers);
    auto tree = own_lanes(c, 8);
    auto sum = reducer.reduce_scatter(tree);
    for (const auto& s : reducer.shards().slices(c.rank())) {
      if (s.array == 3) continue;
      const auto shard_of = [&](const LaneSum& of) {
        const std::int64_t size = s.end - s.begin;
        return core::elements(of.arrays[s.array], s.begin, {&size, 1});
      };
      EXPECT_TRUE(same_bits(shard_of(sum), shard_of(want)));
      // What a sharded optimizer does: it changes its shard, then everyone gets it.
      const core::HostView values(parameters.arrays[s.array], core::HostView::Use::update);
      for (auto i = s.begin; i < s.end; ++i)
        values.floats()[static_cast<std::size_t>(i)] = static_cast<float>(i + c.rank());
    }
    auto arrays = parameters.arrays;
    reducer.all_gather(arrays);
    for (int w = 0; w < c.size(); ++w) {
      for (const auto& s : reducer.shards().slices(w)) {
        if (s.array == 3) continue;
        const auto values = arrays[s.array].to_vector<float>();
        EXPECT_EQ(values[static_cast<std::size_t>(s.begin)], static_cast<float>(s.begin + w));
        EXPECT_EQ(values[static_cast<std::size_t>(s.end - 1)], static_cast<float>(s.end - 1 + w));
      }
    }
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

TEST(TreeReduce, WorkersThatDoNotAgree) {
  const Parameters parameters;
  const auto first_error = [&](const std::function<void(Communicator&, TreeReduce&)>& body) {
    const auto errors = run_workers({.count = 2}, [&](Communicator& c) {
      TreeReduce reducer(c, parameters.pointers);
      body(c, reducer);
    });
    EXPECT_EQ(errors[0], errors[1]);
    return errors[0];
  };
  EXPECT_EQ(first_error([](Communicator& c, TreeReduce& r) {
              auto tree = own_lanes(c, c.rank() == 0 ? 4 : 8);
              r.reduce(tree);
            }),
            "tree reduce: worker 1 sums 8 lanes and worker 0 4");
  EXPECT_EQ(first_error([](Communicator& c, TreeReduce& r) {
              LaneTree tree(4, kSizes.size());
              reduce_lane(tree, c.rank());
              r.reduce(tree);
            }),
            "tree reduce: worker 0 of 2 has summed 1 lanes from lane 0, it owns 2 from lane 0 (of 4)");
  EXPECT_EQ(first_error([](Communicator& c, TreeReduce& r) {
              LaneTree tree(2, kSizes.size());
              tree.buffer_for(c.rank());
              tree.finish(c.rank(), std::vector<double>(c.rank() == 0 ? 2 : 3));
              r.reduce(tree);
            }),
            "tree reduce: worker 1 sums 3 scalars and worker 0 2");
}

TEST(TreeReduce, LanesOfOtherSizes) {
  const Parameters parameters;
  const auto errors = run_workers({.count = 2}, [&](Communicator& c) {
    TreeReduce reducer(c, parameters.pointers);
    LaneTree tree(2, 1), wrong(2, kSizes.size());
    tree.buffer_for(c.rank());
    tree.finish(c.rank(), {});
    EXPECT_EQ(thrown_by([&] { reducer.reduce(tree); }),
              "tree reduce: the lanes have 1 arrays and the reducer 7");
    wrong.buffer_for(c.rank())[0] = vector_of({1, 2});
    wrong.finish(c.rank(), {});
    EXPECT_EQ(
        thrown_by([&] { reducer.reduce(wrong); }),
        fmt::format("tree reduce: array 0 has 2 elements in 1 lanes from lane {} (of 2) and 5 in the reducer",
                    c.rank()));
  });
  EXPECT_THAT(errors, Each(Eq("")));
}

TEST(Ownership, ConsecutiveLanesAndTheirNodes) {
  EXPECT_EQ(owned_lanes(0, 3, 8), (LaneRange{0, 3}));
  EXPECT_EQ(owned_lanes(1, 3, 8), (LaneRange{3, 3}));
  EXPECT_EQ(owned_lanes(2, 3, 8), (LaneRange{6, 2}));
  EXPECT_EQ(owned_lanes(3, 4, 2), (LaneRange{2, 0}));
  EXPECT_THAT(subtrees({0, 3}), ElementsAre(LaneRange{0, 2}, LaneRange{2, 1}));
  EXPECT_THAT(subtrees({3, 3}), ElementsAre(LaneRange{3, 1}, LaneRange{4, 2}));
  EXPECT_THAT(subtrees({1, 7}), ElementsAre(LaneRange{1, 1}, LaneRange{2, 2}, LaneRange{4, 4}));
  EXPECT_THAT(subtrees({0, 8}), ElementsAre(LaneRange{0, 8}));
  EXPECT_TRUE(subtrees({2, 0}).empty());
}

TEST(Shards, EndOnChunksOfAnArray) {
  const Shards shards({5, 100, 30}, 3, 16);
  EXPECT_EQ(shards.elements(), 135);
  EXPECT_EQ(shards.begin(0), 0);
  EXPECT_EQ(shards.end(0), 5 + 32);  // an equal share would be 45; the next boundaries are 37 and 53
  EXPECT_EQ(shards.end(1), 5 + 80);
  EXPECT_EQ(shards.end(2), 135);
  EXPECT_EQ(shards.largest(), 50);
  EXPECT_THAT(shards.slices(0), ElementsAre(Slice{0, 0, 5}, Slice{1, 0, 32}));
  EXPECT_THAT(shards.slices(1), ElementsAre(Slice{1, 32, 80}));
  EXPECT_THAT(shards.slices(2), ElementsAre(Slice{1, 80, 100}, Slice{2, 0, 30}));
  EXPECT_THAT(shards.slices(4, 6), ElementsAre(Slice{0, 4, 5}, Slice{1, 0, 1}));
}

TEST(Shards, CoverEverythingOnce) {
  for (int workers = 1; workers <= 9; ++workers) {
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
             {}, {0}, {1}, {3, 0, 0, 9}, {100000, 5, 7, 40000}, {1, 1, 1, 1, 1, 1}}) {
      const Shards shards(sizes, workers, 1000);
      std::vector<std::int64_t> seen(sizes.size());
      for (int w = 0; w < workers; ++w) {
        EXPECT_GE(shards.size(w), 0);
        for (const auto& s : shards.slices(w)) {
          EXPECT_EQ(s.begin, seen[s.array]);
          EXPECT_TRUE(s.end == sizes[s.array] || s.end % 1000 == 0);
          seen[s.array] = s.end;
        }
      }
      EXPECT_EQ(seen, sizes);
    }
  }
}

}  // namespace
}  // namespace bora::mesh
