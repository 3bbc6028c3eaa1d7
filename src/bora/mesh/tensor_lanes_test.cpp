// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// With fixed lanes on the axis model, operations have the same bits on 1, 2 and 4 workers.
#include <gtest/gtest.h>

#include <mutex>

#include "bora/core/activation.h"
#include "bora/core/contract.h"
#include "bora/core/cross_entropy.h"
#include "bora/core/index.h"
#include "bora/mesh/mesh.h"
#include "bora/mesh/test_communicator.h"
#include "bora/mesh/test_ops.h"

namespace bora::mesh {
namespace {

using core::Array;
using core::Operand;
using testing::borrowed;
using testing::Case;
using testing::Outcome;
using testing::Result;

constexpr int kLanes = 4;
constexpr std::string_view kBpe[] = {"b", "p", "e"}, kBpm[] = {"b", "p", "m"}, kBp[] = {"b", "p"};

Outcome run_on(int workers, const Case& c, const std::string& axis) {
  const std::vector<core::AxisRule> rules{{axis, "model"}};
  std::mutex mutex;
  Outcome out;
  const auto errors = testing::run_workers({.count = workers}, [&](Communicator& all) {
    const Mesh mesh(borrowed(all), {.model = workers}, {rules, rules, kLanes});
    const core::MappingScope scope(mesh.mapping());
    Outcome own = testing::run(c);
    const std::lock_guard lock(mutex);
    if (all.rank() == 0) out = std::move(own);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "") << c.name << " on " << workers;
  return out;
}

void expect_same_bits(const Case& c, const std::string& axis, float tolerance = 1e-5F) {
  const Outcome plain = testing::run(c), one = run_on(1, c, axis);
  ASSERT_EQ(one.value.size(), plain.value.size());
  float largest = 1;
  for (const float x : plain.value) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < plain.value.size(); ++i)
    ASSERT_NEAR(one.value[i], plain.value[i], tolerance * largest) << c.name;
  for (const int workers : {2, 4}) {
    const Outcome several = run_on(workers, c, axis);
    EXPECT_EQ(several.value, one.value) << c.name << " on " << workers;
    for (std::size_t i = 0; i < one.gradients.size(); ++i)
      EXPECT_EQ(several.gradients[i], one.gradients[i]) << c.name << " on " << workers << ", gradient " << i;
  }
}

// Two layers beside each other, one behind them, and a residual: what a block does.
Result mlp(std::span<const Operand> in, core::DType dtype) {
  const auto cast = [&](const Operand& x) { return core::cast(x, dtype); };
  const Array x = core::unary(core::Unary::tanh, {cast(in[0]), in[0].names});
  const Operand h{x, kBpe};
  const auto layer = [&](std::size_t i, const Array& bias) {
    return core::linear(h, {cast(in[i]), in[i].names}, bias, kBpm);
  };
  const Array gate = layer(1, {}), up = layer(2, cast(in[4]));
  const Array act = core::gated(core::Activation::silu, {gate, kBpm}, {up, kBpm});
  const Array down = core::linear({act, kBpm}, {cast(in[3]), in[3].names}, {}, kBpe);
  const Array y = core::binary(core::Binary::add, h, {down, kBpe}, kBpe);
  return {core::cast({y, kBpe}, core::DType::f32), {"b", "p", "e"}};
}

Case mlp_case(std::string name, std::int64_t e, std::int64_t m, core::DType dtype) {
  return {std::move(name),
          {{{"b", "p", "e"}, {2, 16, e}},
           {{"m", "e"}, {m, e}},
           {{"m", "e"}, {m, e}},
           {{"e", "m"}, {e, m}},
           {{"m"}, {m}}},
          [dtype](auto in) { return mlp(in, dtype); }};
}

TEST(TensorLanes, LayersSideBySide) {
  expect_same_bits(mlp_case("small", 24, 40, core::DType::f32), "m");
  expect_same_bits(mlp_case("large", 192, 512, core::DType::f32), "m");
  expect_same_bits(mlp_case("in 16 bits", 24, 40, core::DType::bf16), "m", 2e-2F);
}

TEST(TensorLanes, Vocabulary) {
  expect_same_bits({"take",
                    {{{"v", "e"}, {32, 24}}, {{"b", "p"}, {2, 16}, 32}},
                    [](auto in) { return Result{core::take(in[0], "v", in[1], kBpe), {"b", "p", "e"}}; }},
                   "v");
  for (const bool options : {false, true}) {
    expect_same_bits(
        {options ? "linear_cross_entropy with head options" : "linear_cross_entropy",
         {{{"b", "p", "e"}, {2, 16, 24}},
          {{"v", "e"}, {200, 24}},
          {{"b", "p"}, {2, 16}, 200},
          {{"v"}, {200}}},
         [options](auto in) {
           const Array hidden = core::unary(core::Unary::tanh, in[0]);
           const Array weights = core::ones({kBp, std::vector<std::int64_t>{2, 16}});
           core::HeadOptions head{.bias = in[3].array};
           if (options) head = {.logit_scale = 0.5, .soft_cap = 2, .bias = in[3].array};
           const auto loss = core::linear_cross_entropy({hidden, kBpe}, in[1], in[2], {weights, kBp},
                                                        {.head = head, .z_loss = 1e-2, .chunk = 8});
           return Result{core::binary(core::Binary::divide, {loss.loss, {}}, {loss.weight, {}}, {}), {}};
         }},
        "v");
  }
}

TEST(TensorLanes, LogProbabilitiesOfTheVocabulary) {
  expect_same_bits(
      {"linear_log_prob",
       {{{"b", "p", "e"}, {2, 16, 24}}, {{"v", "e"}, {200, 24}}, {{"b", "p"}, {2, 16}, 200}, {{"v"}, {200}}},
       [](auto in) {
         const Array hidden = core::unary(core::Unary::tanh, in[0]);
         const core::HeadOptions head{.logit_scale = 0.5, .soft_cap = 2, .bias = in[3].array};
         return Result{core::linear_log_prob({hidden, kBpe}, in[1], in[2], head, 8), {"b", "p"}};
       }},
      "v");
}

// Beside a log-probability, which has the gradients.
TEST(TensorLanes, RanksAndMostProbableTokens) {
  expect_same_bits(
      {"linear_scores",
       {{{"b", "p", "e"}, {2, 16, 24}}, {{"v", "e"}, {200, 24}}, {{"b", "p"}, {2, 16}, 200}, {{"v"}, {200}}},
       [](auto in) {
         static constexpr std::string_view kTop[] = {"top"}, kBpt[] = {"b", "p", "top"};
         const Array hidden = core::unary(core::Unary::tanh, in[0]);
         const core::HeadOptions head{.logit_scale = 0.5, .soft_cap = 2, .bias = in[3].array};
         const auto scores = core::linear_scores({hidden, kBpe}, in[1], in[2],
                                                 {.head = head, .chunk = 8, .rank = true, .top = 3});
         const Array log_prob = core::linear_log_prob({hidden, kBpe}, in[1], in[2], head, 8);
         const Array rank = core::cast({scores.rank, kBp}, core::DType::f32);
         const Array most = core::reduce(core::Reduction::sum, {scores.top_log_prob, kBpt}, kTop);
         const Array both = core::binary(core::Binary::add, {rank, kBp}, {most, kBp}, kBp);
         return Result{core::binary(core::Binary::add, {log_prob, kBp}, {both, kBp}, kBp), {"b", "p"}};
       }},
      "v");
}

TEST(TensorLanes, ABatchOfProducts) {
  static constexpr std::string_view kBpq[] = {"b", "p", "q"};
  expect_same_bits({"dot",
                    {{{"b", "p", "e"}, {4, 8, 24}}, {{"b", "q", "e"}, {4, 8, 24}}},
                    [](auto in) { return Result{core::dot(in[0], in[1], kBpq), {"b", "p", "q"}}; }},
                   "b");
}

std::string error_of(int lanes, const std::function<void()>& body) {
  const auto errors = testing::run_workers({.count = 1}, [&](Communicator& all) {
    const Mesh mesh(borrowed(all), {}, {{{"m", "model"}}, {{"m", "model"}}, lanes});
    const core::MappingScope scope(mesh.mapping());
    body();
  });
  return errors[0];
}

TEST(TensorLanes, OtherSumsAreRefused) {
  static constexpr std::string_view kM[] = {"m"}, kB[] = {"b"}, kBm[] = {"b", "m"};
  const auto filled = [](core::Names names, std::vector<std::int64_t> sizes) {
    return core::ones({names, sizes});
  };
  constexpr const char* kSum =
      "{}: a sum over the axis m on the mesh axis model does not follow the 4 fixed lanes\nhint: take m out "
      "of "
      "the axes of model, or leave out trainer.tensor_lanes";
  EXPECT_EQ(error_of(4, [&] { core::reduce(core::Reduction::sum, {filled(kBm, {2, 8}), kBm}, kM); }),
            fmt::format(kSum, "sum"));
  const auto multiply = [&](Array& x) {
    core::value_and_grad(std::vector<Array*>{&x}, [&] {
      const Array y = core::unary(core::Unary::tanh, {x, kB});
      const Array z = core::binary(core::Binary::multiply, {y, kB}, {filled(kBm, {2, 8}), kBm}, kBm);
      return core::reduce(core::Reduction::sum, {core::whole({z, kBm}), kBm}, kBm);
    });
  };
  EXPECT_EQ(error_of(4,
                     [&] {
                       Array x = filled(kB, {2});
                       multiply(x);
                     }),
            fmt::format(kSum, "multiply"));
  EXPECT_EQ(error_of(3, [] {}),
            "mapping: 3 lanes on the 1 workers of the mesh axis model\nhint: a power of two that the workers "
            "divide");
}

}  // namespace
}  // namespace bora::mesh
