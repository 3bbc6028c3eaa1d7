// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A mixture of experts whose experts lie on several workers. On a mesh axis whose workers share a lane, each
// computes its own: where every token passes all of them, what contracts their axis sums over the workers; where
// tokens choose, all get what each computed. On the axis `expert`, where workers compute different lanes, slots
// go to the workers that have their experts.
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
#include "bora/core/step_ops.h"
#include "bora/mesh/gradient_reducer.h"
#include "bora/mesh/sharded_parameters.h"
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

// Experts on the mesh axis model, alone or with another axis.
TEST(ExpertAxis, AMixtureLikeOneWorkers) {
  const std::vector<core::AxisRule> expert = {{"expert", "model"}}, mlp = {{"mlp", "model"}},
                                    both = {{"expert", "model"}, {"mlp", "model"}},
                                    or_embed = {{"expert", "model"}, {"embed", "model"}};
  const std::vector<Layout> layouts = {
      {{.model = 2}, {expert, {}}, "parameters whole"},
      {{.model = 4}, {expert, expert}, "parameters in shards"},
      {{.data = 2, .model = 2}, {expert, expert}, "and data"},
      {{.context = 2, .model = 2}, {{{"position", "context"}, {"expert", "model"}}, expert}, "and context"},
      {{.model = 2}, {both, {}}, "expert or mlp"},
      {{.model = 2}, {or_embed, expert}, "expert or embed"},
      {{.model = 2}, {expert, mlp}, "mlp in shards"},
      {{.model = 2}, {{{"slot", "model"}}, expert}, "slots"}};
  testing::expect_like_one(mixture_of(4), layouts);
  testing::expect_like_one(choice_of(4), layouts);
}

// Not nearly: what one worker's experts give is copied to the others.
TEST(ExpertAxis, BitsOfAChoiceDoNotDependOnItsWorkers) {
  const std::vector<core::AxisRule> expert = {{"expert", "model"}};
  for (const std::int64_t experts : {4, 8}) {
    const auto c = choice_of(experts);
    const auto want = testing::run(c);
    for (const int n : {2, 4}) {
      for (const auto& at_rest : {std::vector<core::AxisRule>{}, expert}) {
        const auto errors = testing::run_workers({.count = n}, [&](Communicator& workers) {
          const Mesh mesh(borrowed(workers), {.model = n}, {expert, at_rest});
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

// The choice of a lane, whose tokens are its own: value, and the gradients of tokens, router and the experts, whole.
struct LaneOutcome {
  std::vector<float> value;
  std::vector<core::Array> gradients;
};

LaneOutcome of_lane(const Case& c, int lane, core::DType compute) {
  std::vector<core::Array> arrays;
  std::vector<core::Array*> parameters;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    arrays.push_back(testing::made(c.inputs[i], i == 0 ? 100 + static_cast<std::size_t>(lane) : i));
    core::place_parameter(arrays.back(), c.inputs[i].names);
  }
  for (auto& a : arrays) parameters.push_back(&a);
  LaneOutcome out;
  const auto result = core::value_and_grad(parameters, [&] {
    std::vector<core::Array> used;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      used.push_back(core::cast({arrays[i], c.inputs[i].names}, compute));
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < used.size(); ++i) operands.push_back({used[i], c.inputs[i].names});
    const Result y = c.op(operands);
    const core::Array wide = core::cast({y.array, y.names}, core::DType::f32);
    out.value = core::stop_gradient(wide).to_vector<float>();
    return testing::weighed({wide, y.names});
  });
  for (std::size_t i = 0; i < arrays.size(); ++i)
    out.gradients.push_back(core::whole({core::like(arrays[i], result.gradients[i]), c.inputs[i].names}));
  return out;
}

TEST(ExpertAxis, LanesHaveTheBitsOfOneWorker) {
  for (const auto compute : {core::DType::f32, core::DType::bf16}) {
    for (const std::int64_t experts : {4, 8}) {
      const auto c = choice_of(experts);
      std::vector<LaneOutcome> want;
      for (int lane = 0; lane < 4; ++lane) want.push_back(of_lane(c, lane, compute));
      for (const int n : {2, 4}) {
        auto sums = want;  // of experts, over the lanes of n workers
        for (std::size_t i = 2; i < c.inputs.size(); ++i) {
          std::vector<core::Array> of_lanes;
          for (int lane = 0; lane < n; ++lane) of_lanes.push_back(want[lane].gradients[i].clone());
          for (int step = 1; step < n; step *= 2)
            for (int left = 0; left + step < n; left += 2 * step)
              core::add_into(of_lanes[left], of_lanes[left + step]);
          for (int lane = 0; lane < n; ++lane) sums[lane].gradients[i] = of_lanes[0];
        }
        const auto errors = testing::run_workers({.count = n}, [&](Communicator& workers) {
          const Mesh mesh(borrowed(workers), {.expert = n}, {kCompute, kAtRest});
          const core::MappingScope scope(mesh.mapping());
          const auto got = of_lane(c, workers.rank(), compute);
          const auto& expected = sums[static_cast<std::size_t>(workers.rank())];
          EXPECT_EQ(got.value, expected.value);
          for (std::size_t i = 0; i < c.inputs.size(); ++i) {
            EXPECT_EQ(got.gradients[i].to_vector<float>(), expected.gradients[i].to_vector<float>())
                << "gradient " << i << ", " << experts << " experts on " << n;
          }
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

// Whoever writes a loop of their own is told, not given sums of different experts.
TEST(ExpertAxis, OtherReducersAreRefused) {
  for (const bool sharded : {false, true}) {
    const auto errors = testing::run_workers({.count = 2}, [&](Communicator& workers) {
      const Mesh mesh(borrowed(workers), {.expert = 2}, {kCompute, kAtRest});
      const core::MappingScope scope(mesh.mapping());
      static constexpr std::string_view kNames[] = {"expert", "embed"};
      static constexpr std::int64_t kSizes[] = {4, 6};
      core::Array array = core::ones({kNames, kSizes});
      core::place_parameter(array, kNames);
      const std::vector<core::Parameter> parameters = {
          {.path = "router", .axes = {"expert", "embed"}, .array = &array}};
      if (!sharded) make_tree_reducer(mesh.lanes(), parameters);
      ShardedParameters store(mesh.lanes(), {"embed"});
      store.adopt(parameters);
      make_sharded_reducer(store);
    });
    for (const auto& error : errors) {
      EXPECT_EQ(error,
                "gradients: router lies in shards over the mesh axis expert, whose workers compute different "
                "lanes\nhint: make_sharded_reducer, with ShardedParameters for 2 experts");
    }
  }
}

TEST(ExpertAxis, PlacesOfRanks) {
  const MeshShape shape{.data = 1, .expert = 2, .context = 2, .model = 2};
  const auto errors = testing::run_workers({.count = 8}, [&](Communicator& workers) {
    const Mesh mesh(borrowed(workers), shape, {kCompute, kAtRest});
    const auto& mapping = *mesh.mapping();
    ASSERT_EQ(mapping.size(), 3);
    const int rank = workers.rank(), m = rank % 2, c = rank / 2 % 2, e = rank / 4;
    for (std::size_t i = 0; i < mapping.size(); ++i) {
      const auto& name = mapping.mesh_axis(i).name;
      EXPECT_EQ(mapping.workers(i).size(), 2) << name;
      EXPECT_EQ(mapping.workers(i).rank(), name == "model" ? m : (name == "expert" ? e : c)) << name;
    }
    EXPECT_EQ(mesh.place(), rank % 4);
    EXPECT_EQ(mesh.lanes()->size(), 2);
    EXPECT_EQ(mesh.lanes()->rank(), e);
  });
  EXPECT_THAT(errors, ::testing::Each(""));
}

std::string error_on_two(const Case& c, const std::vector<core::AxisRule>& at_rest) {
  const auto errors = testing::run_workers({.count = 2}, [&](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.expert = 2}, {kCompute, at_rest});
    const core::MappingScope scope(mesh.mapping());
    testing::run(c);
  });
  return errors[0];
}

TEST(ExpertAxis, Errors) {
  EXPECT_EQ(
      error_on_two(choice_of(3), {}),
      "experts: axis expert of size 3 cannot be cut into 2 equal shards for the mesh axis expert\nhint: "
      "another size of the mesh axis, or take expert out of its axes");
  EXPECT_EQ(
      error_on_two(choice_of(4), {}),
      "experts: [expert=4, mlp=8, embed=6] does not rest in shards along expert over the mesh axis expert, whose "
      "workers compute different lanes\nhint: put expert on expert in the parameter map too");
  EXPECT_EQ(
      error_on_two(mixture_of(4), kAtRest),
      "linear: [expert=4, embed=6] lies in shards along expert over the mesh axis expert, whose workers compute "
      "different lanes\nhint: experts that tokens choose (with_own_experts) can lie there; put expert on "
      "another mesh axis");
  auto errors = testing::run_workers({.count = 2}, [](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.expert = 2, .model = 2}, {});
  });
  EXPECT_EQ(errors[0],
            "mesh: expert 2 × model 2 is 4 workers, but 2 run\nhint: start 4 "
            "workers, or change the mesh");
}

}  // namespace
}  // namespace bora::mesh
