// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A mixture of experts whose experts lie on several workers: where every token passes all of them, each
// worker computes its own, and what contracts their axis sums over the workers; where tokens choose, each
// computes the slots of its own, which all get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/base/error.h"
#include "bora/core/activation.h"
#include "bora/core/contract.h"
#include "bora/core/elementwise.h"
#include "bora/core/grouped.h"
#include "bora/core/reduce.h"
#include "bora/core/routing.h"
#include "bora/core/shape.h"
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

// The same with two experts for each token.
Result choosing(std::span<const Operand> in) {
  static constexpr std::string_view kTokens[] = {"batch", "position"},
                                    kScores[] = {"batch", "position", "candidate"},
                                    kCandidate[] = {"candidate"},
                                    kChoices[] = {"batch", "position", "choice"},
                                    kSlots[] = {"slot", "embed"}, kUp[] = {"own", "mlp", "embed"},
                                    kDown[] = {"own", "embed", "mlp"}, kMiddle[] = {"slot", "mlp"};
  const core::Array x = core::unary(core::Unary::tanh, in[0]);
  const Operand h{x, kHidden};
  const core::Array logits = core::linear(h, in[1], {}, kScores);
  const core::Array probabilities = core::softmax({logits, kScores}, kCandidate);
  const auto [weights, places] = core::top_k({probabilities, kScores}, "candidate", 2);
  const auto routing = core::route({places, kChoices}, in[1].array.size(0));
  const core::Array slots = core::dispatch(h, routing, kTokens, kSlots);
  const core::Array y = core::with_own_experts(
      {slots, kSlots}, routing.rows, "expert", std::vector<Operand>{in[2], in[3], in[4]},
      [&](const core::Array& own, const core::Array& rows, std::span<const core::Array> w) {
        const Operand s{own, kSlots};
        const core::Array gate = core::grouped_linear(s, rows, {w[0], kUp}, {}, kMiddle),
                          up = core::grouped_linear(s, rows, {w[1], kUp}, {}, kMiddle);
        const core::Array act = core::gated(core::Activation::silu, {gate, kMiddle}, {up, kMiddle});
        return core::grouped_linear({act, kMiddle}, rows, {w[2], kDown}, {}, kSlots);
      });
  const core::Array sum = core::combine({y, kSlots}, {weights, kChoices}, routing, kHidden);
  return {core::binary(core::Binary::add, h, {sum, kHidden}, kHidden), {"batch", "position", "embed"}};
}

Case choice_of(std::int64_t experts) {
  return {"choice",
          {{{"batch", "position", "embed"}, {2, 4, 6}},
           {{"candidate", "embed"}, {experts, 6}},
           {{"expert", "mlp", "embed"}, {experts, 8, 6}},
           {{"expert", "mlp", "embed"}, {experts, 8, 6}},
           {{"expert", "embed", "mlp"}, {experts, 6, 8}}},
          choosing};
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
    layouts.push_back({shape, {kCompute, kAtRest}, shape.text() + ", parameters in shards"});
  }
  // odd ones: other axes on the experts' mesh axis
  layouts.push_back({{.model = 2}, {{{"expert", "model"}, {"mlp", "model"}}, {}}, "expert or mlp on model"});
  layouts.push_back(
      {{.expert = 2}, {{{"expert", "expert"}, {"embed", "expert"}}, kAtRest}, "expert or embed"});
  layouts.push_back({{.expert = 2}, {{{"expert", "expert"}}, {{"mlp", "expert"}}}, "mlp in shards"});
  layouts.push_back({{.expert = 2}, {{{"slot", "expert"}}, kAtRest}, "slots on expert"});
  testing::expect_like_one(mixture_of(4), layouts);
  testing::expect_like_one(choice_of(4), layouts);
}

// Not nearly: what one worker's experts give is copied to the others.
TEST(ExpertAxis, BitsOfAChoiceDoNotDependOnItsWorkers) {
  for (const std::int64_t experts : {4, 8}) {
    const auto c = choice_of(experts);
    const auto want = testing::run(c);
    for (const int n : {2, 4}) {
      for (const auto& at_rest : {std::vector<core::AxisRule>{}, kAtRest}) {
        const auto errors = testing::run_workers({.count = n}, [&](Communicator& workers) {
          const Mesh mesh(borrowed(workers), {.expert = n}, {kCompute, at_rest});
          const core::MappingScope scope(mesh.mapping());
          const auto got = testing::run(c);
          EXPECT_EQ(got.value, want.value) << experts << " on " << n;
          EXPECT_EQ(got.gradients, want.gradients) << experts << " on " << n;
        });
        EXPECT_THAT(errors, ::testing::Each(""));
      }
    }
  }
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
            "linear: axis expert of size 3 cannot be cut into 2 equal shards for the mesh axis expert\nhint: "
            "another size of the mesh axis, or take expert out of its axes");
  errors = testing::run_workers({.count = 2}, [](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.expert = 2}, {kCompute, {}});
    const core::MappingScope scope(mesh.mapping());
    testing::run(choice_of(3));
  });
  EXPECT_EQ(
      errors[0],
      "experts: axis expert of size 3 cannot be cut into 2 equal shards for the mesh axis expert\nhint: "
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
