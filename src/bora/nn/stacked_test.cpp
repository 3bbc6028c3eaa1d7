// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/stacked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "bora/core/host_view.h"
#include "bora/core/parameter_store.h"
#include "bora/named/test_values.h"
#include "bora/nn/dropout.h"
#include "bora/nn/linear.h"

namespace bora::nn {
namespace {

using testing::error_of;
using testing::same_bits;
using Kind = RematPolicy::Kind;

struct Row : axis<"row"> {};
struct Embed : axis<"embed"> {};
struct Inner : axis<"inner"> {};
using Hidden = Named<Row, Embed>;

struct TinyBlock {
  static constexpr std::string_view kind = "Block";
  Linear<Embed, Inner> up;
  Linear<Inner, Embed> down;
  using fields = Fields<&TinyBlock::up, &TinyBlock::down>;

  static TinyBlock init(Key key) {
    auto [a, b] = key.split<2>();
    return {Linear<Embed, Inner>::init(Dim<Embed>{6}, Dim<Inner>{10}, a, 0.3),
            Linear<Inner, Embed>::init(Dim<Inner>{10}, Dim<Embed>{6}, b, 0.3)};
  }
  Hidden operator()(const Hidden& x, const Context& context) const {
    return x + nn::dropout(down(tanh(up(x))), 0.3, context, "mlp");
  }
};

Stacked<TinyBlock> make_stack(std::size_t n, RematPolicy policy) {
  Stacked<TinyBlock> out{{}, policy};
  for (std::size_t i = 0; i < n; ++i) out.blocks.push_back(TinyBlock::init(Key::from_seed(i)));
  return out;
}

TEST(Stacked, EveryPolicyHasTheSameBitsWithDropout) {
  auto x = random_normal(Key::from_seed(100), 0, 1, Dim<Row>{5}, Dim<Embed>{6});
  Context context{.key = Key::from_seed(3)};
  auto run = [&](RematPolicy policy) {
    auto model = make_stack(6, policy);
    return value_and_grad(model, [&](const auto& m) { return total(square(m(x, context))); });
  };
  auto expected = run({Kind::none});
  for (auto policy : {RematPolicy{Kind::full}, RematPolicy{Kind::every, 2}, RematPolicy{Kind::every, 4},
                      RematPolicy{Kind::nested}, RematPolicy{Kind::offload}}) {
    auto found = run(policy);
    EXPECT_TRUE(same_bits(expected.value, found.value)) << policy.text();
    for (std::size_t i = 0; i < 6; ++i) {
      const auto& e = expected.gradients.blocks[i];
      const auto& f = found.gradients.blocks[i];
      EXPECT_TRUE(same_bits(e.up.weight, f.up.weight) && same_bits(e.up.bias, f.up.bias))
          << policy.text() << " " << i;
      EXPECT_TRUE(same_bits(e.down.weight, f.down.weight) && same_bits(e.down.bias, f.down.bias))
          << policy.text();
    }
  }
}

// As with a copy of the model in another dtype, made inside the loss.
TEST(Stacked, BackwardAfterTheModelIsGone) {
  auto x = random_normal(Key::from_seed(100), 0, 1, Dim<Row>{5}, Dim<Embed>{6});
  auto run = [&](RematPolicy policy) {
    auto model = make_stack(4, policy);
    return value_and_grad(model, [&](const auto& m) {
      auto copy = m;
      auto loss = total(square(copy(x, Context{})));
      for (auto& block : copy.blocks) block = TinyBlock{};
      return loss;
    });
  };
  auto expected = run({Kind::none});
  for (auto policy : {RematPolicy{Kind::full}, RematPolicy{Kind::every, 2}, RematPolicy{Kind::nested},
                      RematPolicy{Kind::offload}}) {
    auto found = run(policy);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(same_bits(expected.gradients.blocks[i].up.weight, found.gradients.blocks[i].up.weight))
          << policy.text() << " " << i;
    }
  }
}

/// Hidden states, and what the blocks have added to the loss so far.
struct Flow {
  Hidden x;
  Named<> penalty;
};

struct PenaltyBlock {
  static constexpr std::string_view kind = "Block";
  TinyBlock inner;
  using fields = Fields<&PenaltyBlock::inner>;
  Flow operator()(const Flow& in, const Context& context) const {
    const auto up = inner.up(in.x);
    return {inner(in.x, context), in.penalty + 0.3 * cast(total(square(tanh(up))), core::DType::f32)};
  }
};

// Keeps parameters' values away but for those that are needed: reading others would be seen.
class Away final : public core::ParameterStore {
 public:
  void put(core::Array& x) {
    values_.emplace_back(x, x.to_vector<float>());
    core::drop_values(x);
  }
  void created(core::Array&, core::Names) override {}
  void hold(std::span<const core::Array>) override {}
  void need(std::span<const core::Array> wanted) override {
    for (auto& [array, values] : values_) {
      const bool now =
          std::any_of(wanted.begin(), wanted.end(), [&](const auto& w) { return w.node() == array.node(); });
      if (!now) {
        core::drop_values(array);
      } else if (!core::values_present(array)) {
        core::make_room(array);
        const core::HostView room(array, core::HostView::Use::write);
        std::copy(values.begin(), values.end(), room.floats().begin());
      }
    }
  }

 private:
  std::vector<std::pair<core::Array, std::vector<float>>> values_;
};

struct PenaltyRun {
  Named<> value;
  std::vector<std::vector<float>> gradients;
};
PenaltyRun run_with_penalty(RematPolicy policy, core::DType compute, bool parameters_away) {
  Stacked<PenaltyBlock> model{{}, policy};
  for (auto& block : make_stack(6, policy).blocks) model.blocks.push_back({block});
  const auto x = cast(random_normal(Key::from_seed(100), 0, 1, Dim<Row>{5}, Dim<Embed>{6}), compute);
  Context context{.key = Key::from_seed(3), .compute = compute};
  Away away;
  std::optional<core::ParameterStoreScope> scope;
  std::vector<core::Array*> arrays;
  for (auto& p : parameters(model)) arrays.push_back(p.array);
  if (parameters_away) {
    scope.emplace(away);
    for (auto* a : arrays) away.put(*a);
  }
  PenaltyRun out{{}, std::vector<std::vector<float>>(arrays.size())};
  out.value = Named<>::adopt(core::stream_gradients(
      arrays,
      [&] {
        const Flow end = model(Flow{x, zeros()}, context);
        return (cast(total(square(end.x)), core::DType::f32) + end.penalty).array();
      },
      [&](std::size_t i, const core::Array& g) { out.gradients[i] = g.to_vector<float>(); }));
  return out;
}

TEST(Stacked, AnAuxiliaryLossFlowsThroughEveryPolicy) {
  for (const auto compute : {core::DType::f32, core::DType::bf16}) {
    const auto expected = run_with_penalty({Kind::none}, compute, false);
    for (const bool away : {false, true}) {
      for (auto policy :
           {RematPolicy{Kind::none}, RematPolicy{Kind::full}, RematPolicy{Kind::every, 2},
            RematPolicy{Kind::every, 4}, RematPolicy{Kind::nested}, RematPolicy{Kind::offload}}) {
        const auto found = run_with_penalty(policy, compute, away);
        EXPECT_TRUE(same_bits(expected.value, found.value)) << policy.text();
        EXPECT_EQ(found.gradients, expected.gradients) << policy.text() << (away ? ", parameters away" : "");
      }
    }
  }
}

// The penalty's part of the gradient is not lost: the same sum without a stack.
TEST(Stacked, AnAuxiliaryLossHasItsGradient) {
  const auto x = random_normal(Key::from_seed(100), 0, 1, Dim<Row>{5}, Dim<Embed>{6});
  auto stack = make_stack(2, {});
  const auto want = value_and_grad(stack, [&](const auto& m) {
    const auto h = m.blocks[0](x, Context{});
    return total(square(m.blocks[1](h, Context{}))) +
           0.3 * (total(square(tanh(m.blocks[0].up(x)))) + total(square(tanh(m.blocks[1].up(h)))));
  });
  Stacked<PenaltyBlock> model{{{stack.blocks[0]}, {stack.blocks[1]}}, {Kind::full}};
  const auto got = value_and_grad(model, [&](const auto& m) {
    const Flow end = m(Flow{x, zeros()}, Context{});
    return total(square(end.x)) + end.penalty;
  });
  for (std::size_t i = 0; i < 2; ++i) {
    const auto a = got.gradients.blocks[i].inner.up.weight.to_vector(),
               b = want.gradients.blocks[i].up.weight.to_vector();
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-4F * (1 + std::abs(b[k])));
  }
}

// A block that hands out its penalty by reference: without recomputation that is right.
struct LeakyBlock {
  static constexpr std::string_view kind = "Block";
  TinyBlock inner;
  std::shared_ptr<std::vector<Named<>>> out;
  using fields = Fields<&LeakyBlock::inner, buffer<&LeakyBlock::out>>;
  Hidden operator()(const Hidden& x, const Context& context) const {
    out->push_back(total(square(inner.up(x))));
    return inner(x, context);
  }
};

TEST(Stacked, WhatLeavesARecomputedBlockByReferenceIsRefused) {
  const auto x = random_normal(Key::from_seed(100), 0, 1, Dim<Row>{5}, Dim<Embed>{6});
  const auto run = [&](RematPolicy policy, bool stopped) {
    const auto leaked = std::make_shared<std::vector<Named<>>>();
    Stacked<LeakyBlock> model{{}, policy};
    for (auto& block : make_stack(2, policy).blocks) model.blocks.push_back({block, leaked});
    return error_of([&] {
      value_and_grad(model, [&](const auto& m) {
        const auto h = total(square(m(x, Context{})));
        const auto penalty = stopped ? stop_gradient((*leaked)[0]) : (*leaked)[0];
        EXPECT_GT(penalty.item(), 0) << "it may be looked at";
        return h + 2 * penalty;
      });
    });
  };
  const std::string refused =
      "multiply: [] was made inside a block that is computed again in the backward pass (remat), and used "
      "outside of it, "
      "where no gradient can reach it\nhint: return it from the block, in a struct beside the hidden state, "
      "or take "
      "stop_gradient() of it";
  EXPECT_EQ(run({Kind::none}, false), "no error");
  EXPECT_EQ(run({Kind::full}, false), refused);
  EXPECT_EQ(run({Kind::nested}, false), refused);
  EXPECT_EQ(run({Kind::full}, true), "no error");
}

TEST(Stacked, EmptyTensorsArePassedOnByNobody) {
  Stacked<PenaltyBlock> model{{}, {Kind::full}};
  model.blocks.push_back({TinyBlock::init(Key::from_seed(1))});
  const auto x = random_normal(Key::from_seed(100), 0, 1, Dim<Row>{5}, Dim<Embed>{6});
  EXPECT_EQ(error_of([&] {
              value_and_grad(model, [&](const auto& m) { return total(m(Flow{x, {}}, Context{}).x); });
            }),
            "layers: tensor 1 of what they pass on, [], is empty\nhint: zeros() stands for nothing so far");
}

TEST(Stacked, LayersHaveDropoutOfTheirOwn) {
  Context context{.key = Key::from_seed(3)};
  EXPECT_NE(context.at_layer(0).fold("mlp"), context.at_layer(1).fold("mlp"));
  EXPECT_NE(context.fold("mlp"), context.fold("attn"));
  EXPECT_EQ(Context{}.fold("mlp"), std::nullopt);
  EXPECT_EQ(context.at_layer(4).layer, 4);
}

TEST(Stacked, PathsByNumber) {
  struct Model {
    Stacked<TinyBlock> layers;
    using fields = Fields<&Model::layers>;
  } model{make_stack(2, {})};
  auto all = parameters(model);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[5].path, "layers.1.up.bias");
  EXPECT_EQ(all[6].inputs, (std::vector<std::string_view>{"inner"}));
}

TEST(Stacked, ProbesBetweenBlocks) {
  auto model = make_stack(3, {});
  std::vector<std::int64_t> seen;
  std::function<void(std::int64_t, const core::Array&)> probe = [&](std::int64_t i, const core::Array&) {
    seen.push_back(i);
  };
  model(Hidden(zeros(Dim<Row>{2}, Dim<Embed>{6})), Context{.probe = &probe});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2}));
}

TEST(RematPolicy, ParseAndText) {
  for (auto text : {"true", "True", "full", "recompute"})
    EXPECT_EQ(RematPolicy::parse(text).kind, Kind::full);
  for (auto text : {"false", "False", "none", "save_all"})
    EXPECT_EQ(RematPolicy::parse(text).kind, Kind::none);
  EXPECT_EQ(RematPolicy::parse("nested").kind, Kind::nested);
  EXPECT_EQ(RematPolicy::parse("offload").kind, Kind::offload);
  auto third = RematPolicy::parse("3");
  EXPECT_EQ(third.kind, Kind::every);
  EXPECT_EQ(third.every, 3);
  for (auto text : {"none", "full", "nested", "offload", "3"})
    EXPECT_EQ(RematPolicy::parse(text).text(), text);
  for (auto text : {"sometimes", "0", "-2", "", "2.5"}) {
    EXPECT_EQ(error_of([&] { RematPolicy::parse(text); }),
              std::string(*text == 0 ? "an empty text" : text) +
                  " is not one of true, false, full, none, nested, recompute, save_all, offload, or a "
                  "number of blocks");
  }
}

struct Remat {
  RematPolicy policy;
  void bind(Binder& b) { policy.bind(b, "gradient_checkpointing"); }
};

// The policy that a line of YAML gives, or its problems.
std::string bound(const std::string& value) {
  ConfigTree tree;
  tree.merge_text("gradient_checkpointing: " + value + "\n", "a.yaml");
  Remat target{{Kind::every, 7}};
  std::string problems;
  for (const auto& p : read_config(tree, target)) problems += p.where + " " + p.key + ": " + p.message;
  return problems.empty() ? target.policy.text() : problems;
}

TEST(RematPolicy, BindsEveryValueOfLevanter) {
  for (auto value : {"true", "True", "full", "recompute", "\"full\""}) EXPECT_EQ(bound(value), "full");
  for (auto value : {"false", "False", "none", "save_all"}) EXPECT_EQ(bound(value), "none");
  EXPECT_EQ(bound("nested"), "nested");
  EXPECT_EQ(bound("offload"), "offload");
  EXPECT_EQ(bound("3"), "3");
  ConfigTree nothing;
  Remat target{{Kind::every, 7}};
  EXPECT_TRUE(read_config(nothing, target).empty());
  EXPECT_EQ(target.policy.text(), "7");
}

TEST(RematPolicy, BindsLevantersMap) {
  EXPECT_EQ(bound("{save_carries: true, prevent_cse: false}"), "full");
  EXPECT_EQ(bound("{simple: true, save_inputs: true}"), "full");
  EXPECT_EQ(bound("{nested: true}"), "nested");
  EXPECT_EQ(bound("{nested: 4}"), "nested");
  EXPECT_EQ(bound("{nested: false}"), "full");
  EXPECT_EQ(bound("{disable: true, nested: true}"), "none");
  EXPECT_EQ(bound("{save_block_internals: true}"), "none");
  EXPECT_EQ(bound("{save_carries: offload}"), "offload");
  EXPECT_EQ(bound("{save_carries: \"offload\", save_inputs: offload, nested: true}"), "offload");
  EXPECT_EQ(bound("{save_carries: offload, disable: true}"), "none");
  EXPECT_EQ(bound("{save_carries: offload, save_block_internals: true}"), "none");
  EXPECT_EQ(bound("{save_carries: elsewhere}"),
            "a.yaml:1 gradient_checkpointing.save_carries = elsewhere: elsewhere is not one of true, false, "
            "offload");
  EXPECT_EQ(
      bound("{nestd: true}"),
      "a.yaml:1 gradient_checkpointing.nestd: unknown key; did you mean gradient_checkpointing.nested?");
}

TEST(RematPolicy, BindReportsAWrongValue) {
  for (auto value : {"sometimes", "0", "-2", "2.5"}) {
    EXPECT_EQ(bound(value),
              std::string("a.yaml:1 gradient_checkpointing = ") + value + ": " + value +
                  " is not one of true, false, full, none, nested, recompute, save_all, offload, "
                  "or a number of blocks");
  }
  for (const auto& [value, shown] : {std::pair{"null", "null"}, {"[full]", "a list"}})
    EXPECT_THAT(bound(value),
                ::testing::HasSubstr(std::string(": ") + shown + " is not one of true, false, full"));
}

TEST(RematPolicy, WritesWhatItReads) {
  for (RematPolicy policy : {RematPolicy{Kind::none}, RematPolicy{Kind::full}, RematPolicy{Kind::nested},
                             RematPolicy{Kind::offload}, RematPolicy{Kind::every, 4}}) {
    Remat out{policy}, back;
    ConfigTree tree;
    tree.merge_text(write_config(out), "a.yaml");
    EXPECT_TRUE(read_config(tree, back).empty());
    EXPECT_EQ(back.policy.text(), policy.text());
  }
  Remat target;
  EXPECT_NE(describe_config(target).find("recompute blocks in the backward pass"), std::string::npos);
}

TEST(RematPolicy, NestedGroups) {
  std::vector<std::pair<std::int64_t, std::int64_t>> cases{{1, 1},  {4, 2},  {7, 1},  {12, 3},
                                                           {16, 4}, {24, 4}, {32, 4}, {36, 6}};
  for (auto [layers, group] : cases) {
    EXPECT_EQ(nested_group(layers), group) << layers;
    EXPECT_EQ(layers % nested_group(layers), 0);
  }
}

}  // namespace
}  // namespace bora::nn
