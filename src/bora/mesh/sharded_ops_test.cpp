// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Every operation on 2 and 4 workers against one, value and gradients, with each of its axes, and each pair
// of them, served by a mesh axis; parameters at rest whole and in shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bora/base/error.h"
#include "bora/core/activation.h"
#include "bora/core/attention.h"
#include "bora/core/checkpoint.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/grouped.h"
#include "bora/core/index.h"
#include "bora/core/norm.h"
#include "bora/core/reduce.h"
#include "bora/core/rope.h"
#include "bora/core/routing.h"
#include "bora/core/shape.h"
#include "bora/core/unbind.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_layouts.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh {
namespace {

using core::Array;
using core::Names;
using core::Operand;
using NameList = std::vector<std::string_view>;

using testing::borrowed;
using testing::Case;
using testing::Layout;
using testing::Result;

// All ways to serve one axis of the case with 2 or 4 workers, and two axes with 2 x 2.
std::vector<Layout> layouts(const Case& c) {
  std::vector<std::string> axes;
  for (const auto& input : c.inputs) {
    for (const auto axis : input.names)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.emplace_back(axis);
  }
  std::vector<Layout> out;
  for (const auto& a : axes) {
    for (const bool blocks : {false, true}) {
      for (const int n : {2, 4}) {
        const std::vector<core::AxisRule> one{{a, "model"}};
        out.push_back({{.model = n},
                       {one, blocks ? one : std::vector<core::AxisRule>{}},
                       fmt::format("{} on {}{}", a, n, blocks ? ", parameters in shards" : "")});
      }
      for (const auto& b : axes) {
        if (a == b) continue;
        const std::vector<core::AxisRule> two{{a, "model"}, {b, "context"}}, both{{a, "model"}, {b, "model"}};
        out.push_back({{.context = 2, .model = 2},
                       {two, blocks ? std::vector<core::AxisRule>{two[0]} : std::vector<core::AxisRule>{}},
                       fmt::format("{} and {} on 2 x 2{}", a, b, blocks ? ", parameters in shards" : "")});
        out.push_back({{.model = 2},
                       {both, blocks ? both : std::vector<core::AxisRule>{}},
                       fmt::format("{} or {} on 2{}", a, b, blocks ? ", parameters in shards" : "")});
      }
    }
  }
  return out;
}

void expect_like_one(const Case& c) { testing::expect_like_one(c, layouts(c)); }

NameList names_of(const Operand& x) { return {x.names.begin(), x.names.end()}; }

Case unary_like(std::string name, std::function<Result(const Operand&)> op) {
  return {
      std::move(name), {{{"b", "p", "e"}, {4, 8, 4}}}, [op = std::move(op)](auto in) { return op(in[0]); }};
}

std::vector<Case> plain_cases() {
  static constexpr std::string_view kE[] = {"e"}, kPe[] = {"p", "e"}, kBpe[] = {"b", "p", "e"},
                                    kBe[] = {"b", "e"}, kEpb[] = {"e", "p", "b"}, kF[] = {"f", "g"};
  std::vector<Case> out;
  const auto same = [&](std::string name, auto f) {
    out.push_back(unary_like(std::move(name), [f](const Operand& x) { return Result{f(x), names_of(x)}; }));
  };
  same("tanh", [](const Operand& x) { return core::unary(core::Unary::tanh, x); });
  same("add a number", [](const Operand& x) { return core::binary(core::Binary::add, x, 2.5); });
  same("softmax", [](const Operand& x) { return core::softmax(x, kE); });
  same("softmax over two", [](const Operand& x) { return core::softmax(x, kPe); });
  same("log_softmax", [](const Operand& x) { return core::log_softmax(x, kE); });
  same("cumsum", [](const Operand& x) { return core::cumsum(x, "p"); });
  same("sort", [](const Operand& x) { return core::sort(x, "e", true).first; });
  same("top_k", [](const Operand& x) { return core::top_k(x, "e", 4).first; });
  same("dropout", [](const Operand& x) { return core::dropout(x, 0.4, Key::from_seed(3)); });
  same("slice", [](const Operand& x) { return core::slice(x, "p", 1, 4); });
  same("silu", [](const Operand& x) { return core::activate(core::Activation::silu, x); });
  const auto reduced = [&](std::string name, core::Reduction op) {
    out.push_back(unary_like(name + " over one",
                             [op](const Operand& x) { return Result{core::reduce(op, x, kE), {"b", "p"}}; }));
    out.push_back(unary_like(name + " over all",
                             [op](const Operand& x) { return Result{core::reduce(op, x, kBpe), {}}; }));
  };
  reduced("sum", core::Reduction::sum);
  reduced("mean", core::Reduction::mean);
  reduced("max", core::Reduction::max);
  reduced("var", core::Reduction::var);
  reduced("logsumexp", core::Reduction::logsumexp);
  out.push_back(unary_like(
      "rearrange", [](const Operand& x) { return Result{core::rearrange(x, kEpb), {"e", "p", "b"}}; }));
  out.push_back(unary_like(
      "flatten", [](const Operand& x) { return Result{core::flatten(x, kPe, "pe"), {"b", "pe"}}; }));
  out.push_back(unary_like("unflatten", [](const Operand& x) {
    static constexpr std::int64_t kSizes[] = {2, 4};
    return Result{core::unflatten(x, "p", {kF, kSizes}), {"b", "f", "g", "e"}};
  }));
  out.push_back(unary_like("unbind", [](const Operand& x) {
    const auto parts = core::unbind(x, "p");
    return Result{core::binary(core::Binary::multiply, {parts[1], kBe}, {parts[6], kBe}, kBe), {"b", "e"}};
  }));
  out.push_back(unary_like("broadcast", [](const Operand& x) {
    static constexpr std::string_view kTo[] = {"b", "n", "p", "e"};
    static constexpr std::int64_t kSizes[] = {4, 4, 8, 4};
    return Result{core::broadcast(x, {kTo, kSizes}), {"b", "n", "p", "e"}};
  }));
  return out;
}

std::vector<Case> several_operands() {
  static constexpr std::string_view kBpe[] = {"b", "p", "e"}, kBpm[] = {"b", "p", "m"}, kBp[] = {"b", "p"},
                                    kBpq[] = {"b", "p", "q"};
  std::vector<Case> out;
  out.push_back({"multiply", {{{"b", "p", "e"}, {4, 8, 4}}, {{"e", "p"}, {4, 8}}}, [](auto in) {
                   return Result{core::binary(core::Binary::multiply, in[0], in[1], kBpe), {"b", "p", "e"}};
                 }});
  out.push_back({"where", {{{"b", "p", "e"}, {4, 8, 4}}, {{"b", "p", "e"}, {4, 8, 4}}}, [](auto in) {
                   const Array positive = core::binary(core::Binary::greater, in[0], 0.0);
                   return Result{core::where({positive, kBpe}, in[0], in[1], kBpe), {"b", "p", "e"}};
                 }});
  out.push_back({"concatenate", {{{"b", "p"}, {4, 8}}, {{"p", "b"}, {4, 4}}}, [](auto in) {
                   return Result{core::concatenate(in, "p"), {"b", "p"}};
                 }});
  out.push_back({"stack", {{{"b", "p"}, {4, 8}}, {{"p", "b"}, {8, 4}}}, [](auto in) {
                   return Result{core::stack(in, "s"), {"s", "b", "p"}};
                 }});
  out.push_back({"dot", {{{"b", "p", "e"}, {4, 8, 4}}, {{"m", "e"}, {4, 4}}}, [](auto in) {
                   return Result{core::dot(in[0], in[1], kBpm), {"b", "p", "m"}};
                 }});
  out.push_back({"dot of a batch", {{{"b", "p", "e"}, {4, 4, 4}}, {{"b", "q", "e"}, {4, 4, 4}}}, [](auto in) {
                   return Result{core::dot(in[0], in[1], kBpq), {"b", "p", "q"}};
                 }});
  out.push_back({"linear", {{{"b", "p", "e"}, {4, 8, 4}}, {{"m", "e"}, {4, 4}}, {{"m"}, {4}}}, [](auto in) {
                   return Result{core::linear(in[0], in[1], in[2].array, kBpm), {"b", "p", "m"}};
                 }});
  // two layers that share a conversion, and a residual: what a block does
  out.push_back(
      {"mlp",
       {{{"b", "p", "e"}, {4, 4, 4}}, {{"m", "e"}, {8, 4}}, {{"m", "e"}, {8, 4}}, {{"e", "m"}, {4, 8}}},
       [](auto in) {
         const Array x = core::unary(core::Unary::tanh, in[0]);
         const Operand h{x, kBpe};
         const Array gate = core::linear(h, in[1], {}, kBpm), up = core::linear(h, in[2], {}, kBpm);
         const Array act = core::gated(core::Activation::silu, {gate, kBpm}, {up, kBpm});
         const Array down = core::linear({act, kBpm}, in[3], {}, kBpe);
         return Result{core::binary(core::Binary::add, h, {down, kBpe}, kBpe), {"b", "p", "e"}};
       }});
  out.push_back({"take", {{{"v", "e"}, {8, 4}}, {{"b", "p"}, {4, 4}, 8}}, [](auto in) {
                   return Result{core::take(in[0], "v", in[1], kBpe), {"b", "p", "e"}};
                 }});
  out.push_back({"take along", {{{"b", "p", "v"}, {4, 4, 8}}, {{"b", "p"}, {4, 4}, 8}}, [](auto in) {
                   return Result{core::take(in[0], "v", in[1], kBp), {"b", "p"}};
                 }});
  out.push_back({"scatter_add", {{{"v", "e"}, {8, 4}}, {{"p"}, {4}, 8}, {{"p", "e"}, {4, 4}}}, [](auto in) {
                   return Result{core::scatter_add(in[0], "v", in[1], in[2]), {"v", "e"}};
                 }});
  return out;
}

std::vector<Case> fused_cases() {
  static constexpr std::string_view kE[] = {"e"}, kBp[] = {"b", "p"};
  std::vector<Case> out;
  out.push_back({"rms_norm", {{{"b", "p", "e"}, {4, 4, 4}}, {{"e"}, {4}}}, [](auto in) {
                   return Result{core::rms_norm(in[0], in[1].array, kE, 1e-5), {"b", "p", "e"}};
                 }});
  out.push_back({"layer_norm", {{{"b", "p", "e"}, {4, 4, 4}}, {{"e"}, {4}}, {{"e"}, {4}}}, [](auto in) {
                   return Result{core::layer_norm(in[0], in[1].array, in[2].array, kE, 1e-5),
                                 {"b", "p", "e"}};
                 }});
  out.push_back({"rope", {{{"b", "p", "h", "d"}, {4, 8, 4, 4}}}, [](auto in) {
                   static constexpr std::string_view kAngles[] = {"p", "half"};
                   static constexpr std::int64_t kSizes[] = {8, 2};
                   const Array angles = core::random_normal(Key::from_seed(5), {kAngles, kSizes});
                   const Array cos = core::unary(core::Unary::cos, {angles, kAngles}),
                               sin = core::unary(core::Unary::sin, {angles, kAngles});
                   return Result{
                       core::rope(in[0], "p", "d", core::whole({cos, kAngles}), core::whole({sin, kAngles})),
                       {"b", "p", "h", "d"}};
                 }});
  for (const bool segments : {false, true}) {
    out.push_back({segments ? "attention in segments with sinks" : "attention with slopes",
                   {{{"b", "p", "h", "g", "d"}, {4, 8, 4, 4, 4}},
                    {{"b", "k", "h", "d"}, {4, 8, 4, 4}},
                    {{"b", "k", "h", "d"}, {4, 8, 4, 4}},
                    {{"h", "g"}, {4, 4}}},
                   [segments](auto in) {
                     core::AttentionRule rule;
                     if (!segments) {
                       static constexpr std::string_view kHg[] = {"h", "g"};
                       static constexpr std::int64_t kSizes[] = {4, 4};
                       const Array slopes = core::random_normal(Key::from_seed(6), {kHg, kSizes});
                       rule.slopes = core::whole({slopes, kHg});
                       rule.slope_names = {"h", "g"};
                     }
                     if (segments) {
                       rule.sinks = in[3].array;
                       rule.sink_names = {"h", "g"};
                       std::vector<std::int32_t> ids;
                       for (int i = 0; i < 32; ++i) ids.push_back(i % 8 / 3);
                       static constexpr std::int64_t kSizes[] = {4, 8};
                       rule.query_segments =
                           core::from_data({kBp, kSizes}, std::span<const std::int32_t>(ids));
                       rule.key_segments = rule.query_segments;
                       rule.segment_names = {"b", "p"};
                     }
                     return Result{core::attention(in[0], in[1], in[2], {"p", "k", "d"}, rule),
                                   {"b", "p", "h", "g", "d"}};
                   }});
  }
  out.push_back(
      {"linear_cross_entropy",
       {{{"b", "p", "e"}, {4, 4, 4}}, {{"v", "e"}, {8, 4}}, {{"b", "p"}, {4, 4}, 8}, {{"b", "p"}, {4, 4}}},
       [](auto in) {
         const Array weights = core::stop_gradient(core::unary(core::Unary::abs, in[3]));
         const auto loss =
             core::linear_cross_entropy(in[0], in[1], in[2], {weights, kBp}, {.z_loss = 1e-2, .chunk = 8});
         return Result{core::binary(core::Binary::divide, {loss.loss, {}}, {loss.weight, {}}, {}), {}};
       }});
  out.push_back({"linear_cross_entropy with head options",
                 {{{"b", "p", "e"}, {4, 4, 4}}, {{"v", "e"}, {8, 4}}, {{"b", "p"}, {4, 4}, 8}, {{"v"}, {8}}},
                 [](auto in) {
                   const Array weights = core::ones({kBp, std::vector<std::int64_t>{4, 4}});
                   return Result{core::linear_cross_entropy(
                                     in[0], in[1], in[2], {weights, kBp},
                                     {.head = {.logit_scale = 0.5, .soft_cap = 2, .bias = in[3].array},
                                      .z_loss = 1e-2,
                                      .chunk = 8})
                                     .loss,
                                 {}};
                 }});
  out.push_back({"linear_log_prob",
                 {{{"b", "p", "e"}, {4, 4, 4}}, {{"v", "e"}, {8, 4}}, {{"b", "p"}, {4, 4}, 8}, {{"v"}, {8}}},
                 [](auto in) {
                   const core::HeadOptions head{.logit_scale = 0.5, .soft_cap = 2, .bias = in[3].array};
                   return Result{core::linear_log_prob(in[0], in[1], in[2], head, 8), {"b", "p"}};
                 }});
  out.push_back(
      {"linear_logits", {{{"b", "p", "e"}, {4, 4, 4}}, {{"v", "e"}, {8, 4}}, {{"v"}, {8}}}, [](auto in) {
         static constexpr std::string_view kBpv[] = {"b", "p", "v"};
         const core::HeadOptions head{.logit_scale = 0.5, .soft_cap = 2, .bias = in[2].array};
         return Result{core::linear_logits(in[0], in[1], head, kBpv), {"b", "p", "v"}};
       }});
  out.push_back({"cross_entropy", {{{"b", "p", "v"}, {4, 4, 8}}, {{"b", "p"}, {4, 4}, 8}}, [](auto in) {
                   return Result{core::cross_entropy(in[0], "v", in[1]), {"b", "p"}};
                 }});
  return out;
}

std::vector<Case> grouped_cases() {
  static constexpr std::string_view kBp[] = {"b", "p"}, kBpe[] = {"b", "p", "e"}, kSe[] = {"s", "e"},
                                    kSm[] = {"s", "m"};
  std::vector<Case> out;
  out.push_back({"dispatch", {{{"b", "p", "e"}, {4, 4, 4}}, {{"b", "p", "k"}, {4, 4, 4}, 8}}, [](auto in) {
                   return Result{core::dispatch(in[0], core::route(in[1], 8), kBp, kSe), {"s", "e"}};
                 }});
  out.push_back({"combine",
                 {{{"s", "e"}, {64, 4}}, {{"b", "p", "k"}, {4, 4, 4}}, {{"b", "p", "k"}, {4, 4, 4}, 8}},
                 [](auto in) {
                   return Result{core::combine(in[0], in[1], core::route(in[2], 8), kBpe), {"b", "p", "e"}};
                 }});
  out.push_back({"grouped_linear",
                 {{{"s", "e"}, {16, 4}}, {{"x", "m", "e"}, {4, 4, 4}}, {{"x", "m"}, {4, 4}}},
                 [](auto in) {
                   static constexpr std::string_view kRows[] = {"expert", "part"};
                   static constexpr std::int64_t kSizes[] = {4, 1};
                   static constexpr std::int32_t kCounts[] = {5, 0, 8, 3};
                   const Array rows =
                       core::from_data({kRows, kSizes}, std::span<const std::int32_t>(kCounts));
                   return Result{core::grouped_linear(in[0], rows, in[1], in[2].array, kSm), {"s", "m"}};
                 }});
  return out;
}

TEST(ShardedOps, OfOneOperand) {
  for (const auto& c : plain_cases()) expect_like_one(c);
}
TEST(ShardedOps, OfSeveralOperands) {
  for (const auto& c : several_operands()) expect_like_one(c);
}
TEST(ShardedOps, Grouped) {
  for (const auto& c : grouped_cases()) expect_like_one(c);
}
TEST(ShardedOps, Fused) {
  for (const auto& c : fused_cases()) expect_like_one(c);
}

// Each mesh axis has its say in the words of these errors.
std::string error_on_two(const Mesh::Rules& rules, const std::function<void()>& body) {
  const auto errors = testing::run_workers({.count = 2}, [&](Communicator& workers) {
    const Mesh mesh(borrowed(workers), {.model = 2}, rules);
    const core::MappingScope scope(mesh.mapping());
    body();
  });
  return errors[0];
}

// All that linear_scores says, with ties among the tokens.
std::vector<std::vector<double>> all_scores(bool rank, std::int64_t top) {
  static constexpr std::string_view kPe[] = {"p", "e"}, kVe[] = {"v", "e"}, kP[] = {"p"};
  static constexpr std::int64_t kX[] = {3, 4}, kW[] = {8, 4}, kThree[] = {3};
  const Array x = core::random_normal(Key::from_seed(1), {kPe, kX});
  auto rows = core::random_normal(Key::from_seed(2), {kVe, kW}).to_vector<float>();
  std::copy_n(rows.begin() + 4, 4, rows.begin() + 24);  // token 6 is as token 1
  const Array w = core::from_data({kVe, kW}, std::span<const float>(rows));
  const std::vector<std::int32_t> targets{1, 6, -1};
  const Array t = core::from_data({kP, kThree}, std::span<const std::int32_t>(targets));
  const auto got = core::linear_scores({x, kPe}, {w, kVe}, {t, kP}, {.rank = rank, .top = top});
  const auto wide = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
  std::vector<std::vector<double>> out{wide(got.log_prob.to_vector<float>())};
  if (rank) out.push_back(wide(got.rank.to_vector<std::int32_t>()));
  if (top == 0) return out;
  out.push_back(wide(got.top_ids.to_vector<std::int32_t>()));
  out.push_back(wide(got.top_log_prob.to_vector<float>()));
  return out;
}

TEST(ShardedOps, ScoresOfACutVocabulary) {
  const auto log_prob = all_scores(false, 0), everything = all_scores(true, 3);
  ASSERT_EQ(everything.size(), 4);
  const auto error = error_on_two({{{"v", "model"}}, {}}, [&] {
    const auto here = all_scores(false, 0);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(here[0][i], log_prob[0][i], 1e-6);
    EXPECT_EQ(all_scores(true, 3), everything);
    EXPECT_EQ(all_scores(true, 0)[1], everything[1]);
    EXPECT_EQ(all_scores(false, 3)[1], everything[2]);
  });
  EXPECT_EQ(error, "");
}

TEST(ShardedOps, Errors) {
  static constexpr std::string_view kE[] = {"e"}, kBe[] = {"b", "e"}, kB[] = {"b"};
  static constexpr std::int64_t kThree[] = {3}, kFour[] = {4}, kSizes[] = {4, 3};
  EXPECT_EQ(
      error_on_two({{{"e", "model"}}, {}},
                   [] {
                     const Array x = core::ones({kE, kThree});
                     core::unary(core::Unary::tanh, {x, kE});
                   }),
      "tanh: axis e of size 3 cannot be cut into 2 equal shards for the mesh axis model\nhint: another size "
      "of the mesh axis, or take e out of its axes");
  EXPECT_EQ(error_on_two({{}, {{"e", "model"}}},
                         [] {
                           Array x = core::ones({kBe, kSizes});
                           core::place_parameter(x, kBe);
                         }),
            "parameter [b=4, e=3]: axis e of size 3 cannot be cut into 2 equal shards for the mesh axis "
            "model\nhint: another size of the mesh axis, or take e out of its axes");
  EXPECT_EQ(error_on_two({{{"e", "data"}}, {}}, [] {}),
            "mapping: axis e is to be on the mesh axis data, which is none of model, context, expert");
  EXPECT_EQ(error_on_two({{{"e", "model"}, {"e", "context"}}, {}}, [] {}),
            "mapping: axis e is on the mesh axes model and context\nhint: one of them");
  EXPECT_EQ(
      error_on_two({{{"e", "model"}}, {}},
                   [] {
                     Array x = core::ones({kB, kFour});
                     core::place_parameter(x, kB);
                     const Array other = core::ones({kBe, std::vector<std::int64_t>{4, 4}});
                     core::unary(core::Unary::tanh, {x, kB});
                     core::binary(core::Binary::multiply, {x, kB}, {other, kBe}, kBe);
                     Array gradient = core::ones({kB, kFour});
                     core::sum_pending(x, "norm.weight", gradient);
                   }),
      "parameter norm.weight: one operation uses it beside an axis that the mesh axis model serves, another "
      "without any; its gradient cannot be summed over model\nhint: take that axis out of the mesh axis's "
      "axes");
  EXPECT_EQ(
      error_on_two({{{"e", "model"}}, {}},
                   [] {
                     const Array x = core::ones({kBe, std::vector<std::int64_t>{4, 4}});
                     core::reduce(core::Reduction::sum, {x, kBe}, kE).to_vector<float>();
                   }),
      "to_vector: the array is this worker's part of a sum over workers\nhint: core::whole() adds them up");
  const auto errors = testing::run_workers(
      {.count = 2}, [](Communicator& workers) { const Mesh mesh(borrowed(workers), {.data = 3}, {}); });
  EXPECT_EQ(errors[0],
            "mesh: data 3 is 3 workers, but 2 run\nhint: start 3 workers, or "
            "change the mesh");
}

TEST(ShardedOps, GradientCheckpointing) {
  static constexpr std::string_view kBpe[] = {"b", "p", "e"}, kBpm[] = {"b", "p", "m"};
  expect_like_one(
      {"checkpoint", {{{"b", "p", "e"}, {4, 4, 4}}, {{"m", "e"}, {8, 4}}, {{"e", "m"}, {4, 8}}}, [](auto in) {
         const Array x = core::unary(core::Unary::tanh, in[0]);
         static constexpr std::string_view kMe[] = {"m", "e"}, kEm[] = {"e", "m"};
         auto body = [wide = in[1].array, narrow = in[2].array](std::span<const Array> inputs) {
           const Array up = core::linear({inputs[0], kBpe}, {wide, kMe}, {}, kBpm);
           const Array act = core::activate(core::Activation::silu, {up, kBpm});
           return std::vector<Array>{core::linear({act, kBpm}, {narrow, kEm}, {}, kBpe)};
         };
         return Result{core::checkpoint(body, std::span(&x, 1))[0], {"b", "p", "e"}};
       }});
}

}  // namespace
}  // namespace bora::mesh
