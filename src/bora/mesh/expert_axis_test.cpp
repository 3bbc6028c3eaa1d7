// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A mixture of experts whose experts lie on several workers: every token passes all of them, each worker
// computes its own, and what contracts their axis sums over the workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/core/activation.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/reduce.h"
#include "bora/mesh/test_layouts.h"

namespace bora::mesh {
namespace {

using testing::borrowed;
using testing::Case;
using testing::Layout;
using testing::Operand;
using testing::Result;

constexpr std::string_view kHidden[] = {"batch", "position", "embed"},
                           kRouted[] = {"batch", "position", "expert"},
                           kInside[] = {"batch", "position", "expert", "mlp"}, kExpert[] = {"expert"};

// Inputs: tokens, router, and of each expert gate, up and down.
Result mixture(std::span<const Operand> in) {
  const core::Array x = core::unary(core::Unary::tanh, in[0]);
  const Operand h{x, kHidden};
  const core::Array logits = core::linear(h, in[1], {}, kRouted);
  const core::Array router = core::softmax({logits, kRouted}, kExpert);
  const core::Array gate = core::dot(h, in[2], kInside), up = core::dot(h, in[3], kInside);
  const core::Array act = core::gated(core::Activation::silu, {gate, kInside}, {up, kInside});
  const core::Array chosen = core::binary(core::Binary::multiply, {act, kInside}, {router, kRouted}, kInside);
  const core::Array down = core::dot({chosen, kInside}, in[4], kHidden);
  return {core::binary(core::Binary::add, h, {down, kHidden}, kHidden), {"batch", "position", "embed"}};
}

Case mixture_of(std::int64_t experts) {
  return {"mixture",
          {{{"batch", "position", "embed"}, {2, 4, 6}},
           {{"expert", "embed"}, {experts, 6}},
           {{"expert", "mlp", "embed"}, {experts, 8, 6}},
           {{"expert", "mlp", "embed"}, {experts, 8, 6}},
           {{"expert", "embed", "mlp"}, {experts, 6, 8}}},
          mixture};
}

const std::vector<core::AxisRule> kCompute = {
    {"mlp", "model"}, {"position", "context"}, {"expert", "expert"}};
const std::vector<core::AxisRule> kAtRest = {{"mlp", "model"}, {"expert", "expert"}};

TEST(ExpertAxis, AMixtureLikeOneWorkers) {
  const MeshShape shapes[] = {{.expert = 2},
                              {.expert = 4},
                              {.expert = 2, .model = 2},
                              {.data = 2, .expert = 2},
                              {.context = 2, .expert = 2},
                              {.context = 2, .expert = 2, .model = 2}};
  std::vector<Layout> layouts;
  for (const auto& shape : shapes) {
    layouts.push_back({shape, {kCompute, {}}, shape.text() + ", parameters whole"});
    layouts.push_back({shape, {kCompute, kAtRest}, shape.text() + ", parameters in blocks"});
  }
  testing::expect_like_one(mixture_of(4), layouts);
}

// A worker's experts are its own alone.
TEST(ExpertAxis, ExpertsLieInBlocks) {
  const auto errors = testing::run_workers({.count = 4}, [](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.expert = 2, .model = 2}, {kCompute, kAtRest});
    const core::MappingScope scope(mesh.mapping());
    static constexpr std::string_view kNames[] = {"expert", "mlp", "embed"};
    static constexpr std::int64_t kSizes[] = {4, 8, 6};
    core::Array parameter = core::ones({kNames, kSizes});
    core::place_parameter(parameter, kNames);
    EXPECT_EQ(parameter.numel(), 2 * 4 * 6);
    EXPECT_EQ(core::whole_sizes(parameter), (std::vector<std::int64_t>{4, 8, 6}));
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

TEST(ExpertAxis, PlacesOfRanks) {
  const MeshShape shape{.data = 1, .context = 2, .expert = 2, .model = 2};
  const auto errors = testing::run_workers({.count = 8}, [&](Communicator& workers) {
    const Mesh mesh(borrowed(workers), shape, {kCompute, kAtRest});
    const auto& mapping = *mesh.mapping();
    ASSERT_EQ(mapping.size(), 3);
    const int rank = workers.rank(), m = rank % 2, e = rank / 2 % 2, c = rank / 4;
    for (std::size_t i = 0; i < mapping.size(); ++i) {
      const auto& name = mapping.mesh_axis(i).name;
      EXPECT_EQ(mapping.workers(i).size(), 2) << name;
      EXPECT_EQ(mapping.workers(i).rank(), name == "model" ? m : (name == "expert" ? e : c)) << name;
    }
    EXPECT_EQ(mesh.place(), rank);
    EXPECT_EQ(mesh.lanes()->size(), 1);
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

TEST(ExpertAxis, Errors) {
  auto errors = testing::run_workers({.count = 2}, [](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.expert = 2}, {kCompute, {}});
    const core::MappingScope scope(mesh.mapping());
    testing::run(mixture_of(3));
  });
  EXPECT_EQ(errors[0],
            "linear: axis expert of size 3 cannot be cut into 2 equal blocks for the mesh axis expert\nhint: "
            "another size of the mesh axis, or take expert out of its axes");
  errors = testing::run_workers({.count = 2}, [](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.expert = 2, .model = 2}, {});
  });
  EXPECT_EQ(errors[0],
            "mesh: expert 2 × model 2 is 4 workers, but 2 run\nhint: start 4 "
            "workers, or change the mesh");
}

}  // namespace
}  // namespace bora::mesh
