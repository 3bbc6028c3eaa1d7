// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Who reads the elements of an array of which a rank holds a shard gets an error, not the shard.
#include "bora/core/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/core/create.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"
#include "bora/named/ops.h"

namespace bora::mesh {
namespace {

struct Mlp : axis<"mlp"> {};
struct Embed : axis<"embed"> {};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Shards, AreNotReadAsWholeArrays) {
  const std::vector<core::AxisRule> rules{{"mlp", "model"}};
  const auto errors = testing::run_workers({.count = 2}, [&](Communicator& workers) {
    const Mesh mesh(testing::borrowed(workers), {.model = 2}, {rules, rules});
    const core::MappingScope scope(mesh.mapping());
    auto x = rename<Embed, Mlp>(arange(Dim<Embed>{4}));
    core::place_parameter(x.mutable_array(), Axes<Mlp>::names);
    const std::string says =
        "axis mlp of [mlp=4] is cut, this rank holds 2 of its 4 elements\nhint: core::whole() gathers it on "
        "all "
        "ranks, core::local_vector() reads this rank's shard";
    EXPECT_EQ(error_of([&] { x.to_vector(); }), "to_vector: " + says);
    EXPECT_EQ(
        error_of([&] { x.array().to_vector<float>(); }),
        "to_vector: dimension 0 of [?=4] is cut, this rank holds 2 of its 4 elements\nhint: core::whole() "
        "gathers it on all ranks, core::local_vector() reads this rank's shard");
    const float first = workers.rank() == 0 ? 0 : 2;
    EXPECT_EQ(core::local_vector<float>(x.array()), (std::vector<float>{first, first + 1}));
    EXPECT_EQ(core::whole(x.operand()).to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
    auto two = rename<Embed, Mlp>(arange(Dim<Embed>{2}));
    core::place_parameter(two.mutable_array(), Axes<Mlp>::names);
    EXPECT_EQ(error_of([&] { two.array().item(); }).substr(0, 25), "item: dimension 0 of [?=2");
    EXPECT_EQ(broadcast(x, Dim<Embed>{3}).size<Mlp>(), 4) << "sizes are those of the whole array";
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

}  // namespace
}  // namespace bora::mesh
