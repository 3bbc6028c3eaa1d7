// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bora/nn/stacked.h"

namespace bora::nn {
namespace {

struct Batch : axis<"batch"> {};
struct Pos : axis<"position"> {};
struct Embed : axis<"embed"> {};
struct Mlp : axis<"mlp"> {};
struct Expert : axis<"expert"> {};

using Hidden = Named<Batch, Pos, Embed>;
using Mixture = Experts<Expert, Embed, Mlp>;
constexpr std::int64_t kExperts = 4;

Hidden tokens(std::uint64_t seed) {
  const std::array<std::int64_t, 3> sizes{2, 5, 6};
  return Hidden::adopt(core::random_normal(Key::from_seed(seed), {Hidden::axes::names, sizes}));
}

Mixture mixture(std::uint64_t seed = 3) {
  return Mixture::init(Dim<Expert>{kExperts}, Dim<Embed>{6}, Dim<Mlp>{8}, Key::from_seed(seed), 0.5);
}

RouterSums none() { return RouterSums::none(Dim<Candidate>{kExperts}); }

// Every expert for every token, those that are not chosen times 0.
Hidden of_all_experts(const Mixture& m, const Hidden& x) {
  const auto probability = softmax<Candidate>(m.gate(x));
  const auto chosen = top_k<Candidate>(probability, Dim<Choice>{m.per_token}).second;
  auto weight = probability * sum<Choice>(one_hot(chosen, Dim<Candidate>{kExperts}));
  if (m.renormalize) weight = weight / sum<Candidate>(weight);
  std::optional<Hidden> out;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    GatedMlp<Embed, Mlp> one;
    one.gate_proj.weight = take<Expert>(m.experts.gate_proj.weight, e);
    one.up_proj.weight = take<Expert>(m.experts.up_proj.weight, e);
    one.down_proj.weight = take<Expert>(m.experts.down_proj.weight, e);
    const Hidden y = one(x) * take<Candidate>(weight, e);
    out = out ? *out + y : y;
  }
  return *out;
}

std::vector<std::vector<float>> value_and_gradients(Mixture& m, const std::function<Hidden()>& f) {
  std::vector<core::Array*> arrays;
  for (auto& p : parameters(m)) arrays.push_back(p.array);
  std::vector<std::vector<float>> out;
  const auto result = core::value_and_grad(arrays, [&] {
    const Hidden y = f();
    out.push_back(stop_gradient(y).to_vector());
    return total(y * tokens(9)).array();
  });
  for (const auto& g : result.gradients) out.push_back(g.to_vector<float>());
  return out;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, double tolerance = 2e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Experts, LikeAllExpertsWithWeightsOfNothing) {
  const Hidden x = tokens(1);
  for (const std::int64_t k : {1, 2, 4}) {
    for (const bool renormalize : {true, false}) {
      Mixture m = mixture();
      m.per_token = k;
      m.renormalize = renormalize;
      auto sums = none();
      const auto got = value_and_gradients(m, [&] { return m(x, sums); });
      const auto want = value_and_gradients(m, [&] { return of_all_experts(m, x); });
      for (std::size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i]);
    }
  }
}

TEST(Experts, CountWhatTheirRoutersDo) {
  const Mixture m = mixture();
  auto sums = none();
  m(tokens(1), sums);
  const auto logits = m.gate(tokens(1)).to_vector();
  std::vector<double> load(kExperts), probability(kExperts);
  double z = 0;
  for (std::size_t t = 0; t < 10; ++t) {
    std::vector<double> e(kExperts);
    for (std::size_t i = 0; i < kExperts; ++i) e[i] = std::exp(logits[t * kExperts + i]);
    const double all = std::accumulate(e.begin(), e.end(), 0.0);
    z += std::pow(std::log(all), 2) / 10;
    for (std::size_t i = 0; i < kExperts; ++i) {
      probability[i] += e[i] / all;
      load[i] += std::count_if(e.begin(), e.end(), [&](double other) { return other > e[i]; }) < 2 ? 1 : 0;
    }
  }
  double balance = 0;
  for (std::size_t i = 0; i < kExperts; ++i) {
    EXPECT_EQ(sums.load.to_vector()[i], load[i]);
    EXPECT_NEAR(sums.probability.to_vector()[i], probability[i], 1e-5);
    balance += load[i] / 20 * kExperts / 2 * probability[i] / 10;
  }
  EXPECT_NEAR(sums.balance.item(), balance, 1e-5);
  EXPECT_NEAR(sums.z.item(), z, 1e-5);
  EXPECT_NEAR(sums.greatest.item(), *std::max_element(load.begin(), load.end()) / 5, 1e-6);
  EXPECT_NEAR(sums.least.item(), *std::min_element(load.begin(), load.end()) / 5, 1e-6);
}

TEST(Experts, LossesOfRouters) {
  const Mixture m = mixture(), other = mixture(4);
  auto sums = none();
  m(tokens(1), sums);
  other(tokens(2), sums);
  const auto scalar = [](double x) { return core::full({Axes<>::names, {}}, x); };
  double auxiliary = 0;
  for (std::size_t i = 0; i < kExperts; ++i)
    auxiliary +=
        kExperts * double(sums.load.to_vector()[i]) / 20 * double(sums.probability.to_vector()[i]) / 20;
  const auto loss_with = [&](const RouterLosses& losses) {
    Objective out{scalar(100), scalar(7)};
    add_router_terms(out, sums, losses, 2);
    return out.loss.item();
  };
  EXPECT_EQ(loss_with({}), 100);
  EXPECT_NEAR(loss_with({.load_balance = 0.1}), 100 + 0.7 * sums.balance.item(), 1e-4);
  EXPECT_NEAR(loss_with({.z_loss = 0.1}), 100 + 0.7 * sums.z.item(), 1e-4);
  EXPECT_NEAR(loss_with({.auxiliary = 0.1}), 100 + 0.7 * auxiliary, 1e-4);
  Objective out{scalar(100), scalar(7)};
  add_router_terms(out, sums, {}, 2);
  std::vector<std::string> names;
  for (const auto& metric : out.metrics) names.push_back(metric.name);
  EXPECT_EQ(names, (std::vector<std::string>{"router/load_balance", "router/z_loss", "router/load_max",
                                             "router/load_min"}));
  EXPECT_NEAR(out.metrics[0].sum.item() / 7, auxiliary, 1e-5);
  EXPECT_NEAR(out.metrics[1].sum.item() / 7, sums.z.item() / 2, 1e-5);
  EXPECT_GT(out.metrics[2].sum.item(), out.metrics[3].sum.item());
}

struct Flow {
  Hidden x;
  RouterSums router;
};

struct Block {
  static constexpr std::string_view kind = "Block";
  Mixture mlp;
  using fields = Fields<&Block::mlp>;
  Flow operator()(const Flow& in, const Context&) const {
    Flow out = in;
    out.x = in.x + mlp(in.x, out.router);
    return out;
  }
};

TEST(Experts, SumsPassThroughEveryRematPolicyWithTheSameBits) {
  std::vector<std::vector<float>> first;
  for (const char* policy : {"save_all", "full", "2", "nested"}) {
    Stacked<Block> layers{{{mixture(3)}, {mixture(4)}, {mixture(5)}}, RematPolicy::parse(policy)};
    std::vector<core::Array*> arrays;
    for (auto& p : parameters(layers)) arrays.push_back(p.array);
    const auto result = core::value_and_grad(arrays, [&] {
      const auto flow = layers(Flow{tokens(1), none()}, Context{});
      Objective out{total(flow.x * tokens(9)).array(), core::full({Axes<>::names, {}}, 10)};
      add_router_terms(out, flow.router, {.load_balance = 0.1, .z_loss = 0.2, .auxiliary = 0.3}, 3);
      return out.loss;
    });
    std::vector<std::vector<float>> got{{static_cast<float>(result.value.item())}};
    for (const auto& g : result.gradients) got.push_back(g.to_vector<float>());
    if (first.empty()) first = got;
    EXPECT_EQ(got, first) << policy;
  }
}

TEST(Experts, RoutersAreInFp32AndSaySo) {
  Mixture m = mixture();
  const auto found = parameters(m);
  EXPECT_EQ(found[0].path, "gate.weight");
  EXPECT_EQ(found[0].role, core::Role::router);
  EXPECT_EQ(found[1].path, "experts.gate_proj.weight");
  EXPECT_EQ(found[1].role, core::Role::weight);
  EXPECT_EQ(found[1].inputs, std::vector<std::string_view>{"embed"});
  const Mixture low = cast_parameters(m, core::DType::bf16);
  EXPECT_EQ(low.gate(cast(tokens(1), core::DType::bf16)).dtype(), core::DType::f32);
  auto sums = none();
  const auto y = low(cast(tokens(1), core::DType::bf16), sums);
  EXPECT_EQ(y.dtype(), core::DType::bf16);
  expect_near(cast(y, core::DType::f32).to_vector(), m(tokens(1), sums).to_vector(), 0.1);
}

}  // namespace
}  // namespace bora::nn
