// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/stacked.h"

#include <gtest/gtest.h>

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
                      RematPolicy{Kind::nested}}) {
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
  for (auto policy : {RematPolicy{Kind::full}, RematPolicy{Kind::every, 2}, RematPolicy{Kind::nested}}) {
    auto found = run(policy);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(same_bits(expected.gradients.blocks[i].up.weight, found.gradients.blocks[i].up.weight))
          << policy.text() << " " << i;
    }
  }
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
  for (auto text : {"true", "True", "full", "recompute", "offload"})
    EXPECT_EQ(RematPolicy::parse(text).kind, Kind::full);
  for (auto text : {"false", "False", "none", "save_all"})
    EXPECT_EQ(RematPolicy::parse(text).kind, Kind::none);
  EXPECT_EQ(RematPolicy::parse("nested").kind, Kind::nested);
  auto third = RematPolicy::parse("3");
  EXPECT_EQ(third.kind, Kind::every);
  EXPECT_EQ(third.every, 3);
  for (auto text : {"none", "full", "nested", "3"}) EXPECT_EQ(RematPolicy::parse(text).text(), text);
  for (auto text : {"sometimes", "0", "-2", "", "2.5"}) {
    EXPECT_EQ(error_of([&] { RematPolicy::parse(text); }),
              std::string(text) +
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
  for (auto value : {"true", "True", "full", "recompute", "offload", "\"full\""})
    EXPECT_EQ(bound(value), "full");
  for (auto value : {"false", "False", "none", "save_all"}) EXPECT_EQ(bound(value), "none");
  EXPECT_EQ(bound("nested"), "nested");
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
}

TEST(RematPolicy, WritesWhatItReads) {
  for (RematPolicy policy : {RematPolicy{Kind::none}, RematPolicy{Kind::full}, RematPolicy{Kind::nested},
                             RematPolicy{Kind::every, 4}}) {
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
