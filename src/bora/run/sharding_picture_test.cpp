// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bora/run/sharding_plan.h"

namespace bora::run {
namespace {

using testing::HasSubstr;

// A model with experts, on 2 workers of lanes, each on expert 2 x model 2.
ShardingPlan with_experts() {
  ShardingPlan plan{.workers = 8, .mesh = {.data = 2, .expert = 2, .model = 2}};
  const std::vector<std::int64_t> block = {2, 32, 8};
  plan.parameters = {
      {.path = "router", .names = {"expert", "embed"}, .sizes = {4, 8}, .mesh_cuts = {{"expert", 0, 2}}},
      {.path = "experts",
       .names = {"expert", "mlp", "embed"},
       .sizes = {4, 64, 8},
       .mesh_cuts = {{"expert", 0, 2}, {"model", 1, 2}},
       .cut = mesh::AxisCut(block, 2, 2)},
      {.path = "norm", .names = {"embed"}, .sizes = {8}}};
  return plan;
}

TEST(ShardingPicture, BlocksOfExperts) {
  const auto plan = with_experts();
  EXPECT_EQ(plan.parameters[1].mesh_blocks(), 4);
  EXPECT_EQ(plan.parameters[1].elements_of(1), 4 * 64 * 8 / 8);
  EXPECT_EQ(draw_text(plan),
            "router   [expert=4, embed=8]          expert ▏0▏1▕ 2 each over expert\n"
            "experts  [expert=4, mlp=64, embed=8]  expert ▏0▏1▕ 2 each over expert · mlp ▏0▏1▕ 32 each over "
            "model · embed ▏0▏1▕ 4 each\n"
            "norm     [embed=8]                    whole on every worker\n");
}

TEST(ShardingPicture, ColoursAreThoseOfTheWorkersThatHoldABlock) {
  const auto svg = draw_svg(with_experts());
  EXPECT_THAT(svg, HasSubstr("cut along expert and along mlp and along embed"));
  // The second half of the experts begins at the third worker.
  const auto router = svg.find(">router<"), experts = svg.find(">experts<");
  const auto row = svg.substr(router, experts - router);
  EXPECT_THAT(row, HasSubstr("hsl(0,"));
  EXPECT_THAT(row, HasSubstr("hsl(90,"));
  EXPECT_THAT(svg.substr(experts), HasSubstr("hsl(315,"));
}

}  // namespace
}  // namespace bora::run
