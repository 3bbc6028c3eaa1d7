// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Attention whose queries and keys several workers share, against one worker: value and every gradient, and
// what travels for it.
#include <gtest/gtest.h>

#include <mutex>

#include "bora/mesh/mesh.h"
#include "bora/mesh/test_attention.h"

namespace bora::mesh {
namespace {

using namespace mesh::testing;

std::vector<Variant> variants() {
  std::vector<Variant> out{{"causal"}, {"full"}, {"window"}, {"wide window"}, {"window, not causal"}};
  out[1].rule.causal = false;
  out[2].rule.window = 3;
  out[3].rule.window = 11;
  out[4].rule = {.causal = false, .window = 6};
  out.push_back({"soft cap", {.scale = 0.7, .soft_cap = 2}});
  out.push_back({"segments", {}, true});
  out.push_back({"segments in a window, not causal", {.causal = false, .window = 9}, true});
  out.push_back({"keys before the first query", {.offset = 9}});
  out.push_back({"queries that see no key", {.offset = -9}});
  out.push_back({"queries after all keys in the window", {.offset = 20, .window = 4}});
  out.push_back({"in 16 bits", {}, false, DType::bf16});
  out.push_back({"slopes in a window", {.window = 11}, false, DType::f32, true});
  out.push_back({"sinks", {}, false, DType::f32, false, true});
  out.push_back(
      {"sinks that some queries see alone", {.offset = -9, .window = 4}, false, DType::f32, false, true});
  return out;
}

TEST(RingAttention, LikeOneWorker) {
  struct Layout {
    MeshShape shape;
    std::vector<core::AxisRule> rules;
  };
  const Layout layouts[] = {{{.context = 2}, kPositionsInBlocks},
                            {{.context = 4}, kPositionsInBlocks},
                            {{.context = 2, .model = 2}, kHeadsToo}};
  for (const auto& variant : variants()) {
    const Case c = attention_case(variant);
    const Outcome want = run(c);
    const bool narrow = variant.type != DType::f32;
    for (const auto& layout : layouts) {
      std::mutex mutex;
      const auto errors = run_workers({.count = layout.shape.workers()}, [&](Communicator& workers) {
        const Mesh mesh(borrowed(workers), layout.shape, {layout.rules, layout.rules});
        const core::MappingScope scope(mesh.mapping());
        const Outcome got = run(c);
        const std::lock_guard lock(mutex);
        const std::string text =
            fmt::format("{}, context {} model {}", c.name, layout.shape.context, layout.shape.model);
        EXPECT_LE(error_of(got.value, want.value), narrow ? 1e-2F : 1e-6F) << text;
        for (std::size_t i = 0; i < want.gradients.size(); ++i)
          EXPECT_LE(error_of(got.gradients[i], want.gradients[i]), narrow ? 2e-2F : 2e-6F) << text << i;
      });
      for (const auto& e : errors) EXPECT_EQ(e, "") << c.name;
    }
  }
}

// Backward, keys and values come once more, and the gradients of the own shard from all who have seen it.
TEST(RingAttention, BlocksGoNoFurtherThanTheyAreSeen) {
  expect_blocks({"full", {.causal = false}}, {3, 3, 3, 3}, {9, 9, 9, 9});
  expect_blocks({"causal"}, {0, 1, 2, 3}, {3, 4, 5, 6});
  expect_blocks({"causal in 16 bits", {}, false, DType::bf16}, {0, 1, 2, 3}, {3, 4, 5, 6});
  expect_blocks({"window of a block", {.window = 9}}, {0, 1, 1, 1}, {1, 3, 3, 2});
  expect_blocks({"window of more", {.window = 10}}, {0, 1, 2, 2}, {2, 4, 5, 4});
  expect_blocks({"nothing is seen", {.offset = -40}}, {0, 0, 0, 0}, {0, 0, 0, 0});
}

// Other lengths of queries and keys have no common blocks: keys are gathered.
TEST(RingAttention, OtherNumberOfKeysIsGathered) {
  const Case c{"more keys",
               {{{"b", "p", "h", "d"}, {2, 8, 2, 4}},
                {{"b", "k", "h", "d"}, {2, 16, 2, 4}},
                {{"b", "k", "h", "d"}, {2, 16, 2, 4}}},
               [](auto in) {
                 return Result{core::attention(in[0], in[1], in[2], {"p", "k", "d"}, {.offset = 8}),
                               {"b", "p", "h", "d"}};
               }};
  const Outcome want = run(c);
  const auto errors = run_workers({.count = 2}, [&](Communicator& workers) {
    Counted counted(workers);
    const core::Mapping mapping({{"context", &counted}}, kPositionsInBlocks, kPositionsInBlocks);
    const core::MappingScope scope(&mapping);
    const Outcome got = run(c);
    EXPECT_EQ(counted.received, 0U);
    EXPECT_EQ(counted.scatters, 2);
    EXPECT_LE(error_of(got.value, want.value), 1e-6F);
    for (std::size_t i = 0; i < want.gradients.size(); ++i)
      EXPECT_LE(error_of(got.gradients[i], want.gradients[i]), 2e-6F);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

}  // namespace
}  // namespace bora::mesh
