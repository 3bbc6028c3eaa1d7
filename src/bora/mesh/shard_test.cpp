// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Who reads the elements of an array of which a rank holds a shard gets an error, not the shard.
#include "bora/core/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh {
namespace {

using testing::thrown_by;

constexpr std::string_view kNames[] = {"mlp"};

TEST(Shards, AreNotReadAsWholeArrays) {
  const std::vector<core::AxisRule> rules{{"mlp", "model"}};
  const auto errors = testing::run_workers({.count = 2}, [&](Communicator& workers) {
    const Mesh mesh(testing::borrowed(workers), {.model = 2}, {rules, rules});
    const core::MappingScope scope(mesh.mapping());
    const auto cut = [](std::int64_t n) {
      core::Array x = core::arange({kNames, {&n, 1}});
      core::place_parameter(x, kNames);
      return x;
    };
    const core::Array x = cut(4), two = cut(2);
    const std::string says =
        " is cut, this rank holds 2 of its 4 elements\nhint: core::whole() gathers it on all ranks, "
        "core::local_vector() reads this rank's shard";
    EXPECT_EQ(thrown_by([&] { core::require_whole("to_vector", {x, kNames}); }),
              "to_vector: axis mlp of [mlp=4]" + says);
    EXPECT_EQ(thrown_by([&] { x.to_vector<float>(); }), "to_vector: dimension 0 of [?=4]" + says);
    EXPECT_EQ(thrown_by([&] { two.item(); }).substr(0, 25), "item: dimension 0 of [?=2");
    const float first = workers.rank() == 0 ? 0 : 2;
    EXPECT_EQ(thrown_by([&] { x.data<std::int64_t>(); }), "data: dimension 0 of [?=4]" + says);
    EXPECT_EQ(core::local_data<std::int64_t>(x)[1], static_cast<std::int64_t>(first) + 1);
    EXPECT_EQ(core::local_vector<float>(x), (std::vector<float>{first, first + 1}));
    const core::Array all = core::whole({x, kNames});
    EXPECT_EQ(all.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
    core::require_whole("to_vector", {all, kNames});
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

}  // namespace
}  // namespace bora::mesh
