// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/nn/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bora/nn/clamped_experts.h"
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

template <class M>
std::vector<std::vector<float>> value_and_gradients(M& m, const std::function<Hidden()>& f) {
  std::vector<core::Array*> arrays;
  for (auto& p : parameters(m)) arrays.push_back(p.array);
  std::vector<std::vector<float>> out;
  const auto result = core::value_and_grad(arrays, [&] {
    const Hidden y = f();
    out.push_back(stop_gradient(y).to_vector());
    return total(y * tokens(9)).array();
  });
  for (const auto& g : result.gradients) out.push_back(g.template to_vector<float>());
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
      const auto got = value_and_gradients(m, [&] { return m(x, {}, sums); });
      const auto want = value_and_gradients(m, [&] { return of_all_experts(m, x); });
      for (std::size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i]);
    }
  }
}

using Clamped = Experts<Expert, Embed, Mlp, BiasedRouter<Embed>, ClampedExperts<Expert, Embed, Mlp>>;

// With biases that are not 0, and a limit that many gates and halves reach.
Clamped clamped() {
  auto m = Clamped::init(Dim<Expert>{kExperts}, Dim<Embed>{6}, Dim<Mlp>{8}, Key::from_seed(3), 0.5);
  m.experts.limit = 0.5;
  for (auto& p : parameters(m)) {
    if (p.role != core::Role::bias) continue;
    for (const float x : p.array->to_vector<float>()) EXPECT_EQ(x, 0) << p.path;
    *p.array = core::random_normal(Key::from_seed(40 + p.id), {p.axes, p.array->sizes()});
  }
  return m;
}

// The definition, for every expert, with ops that have other gradients nowhere but at the very ends.
Hidden of_all_clamped(const Clamped& m, const Hidden& x) {
  const double limit = m.experts.limit;
  const auto logits = dot<Embed>(x, m.gate.weight) + m.gate.bias;
  const auto chosen = top_k<Candidate>(logits, Dim<Choice>{m.per_token}).second;
  const auto of_chosen = exp(logits) * sum<Choice>(one_hot(chosen, Dim<Candidate>{kExperts}));
  const auto weight = of_chosen / sum<Candidate>(of_chosen);
  std::optional<Hidden> out;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    const auto apply = [&]<Axis In>(const auto& map, const auto& to) {
      return dot<In>(to, take<Expert>(map.weight, e)) + take<Expert>(map.bias, e);
    };
    const auto gate = minimum(apply.template operator()<Embed>(m.experts.gate_proj, x), limit);
    const auto up = maximum(minimum(apply.template operator()<Embed>(m.experts.up_proj, x), limit), -limit);
    const auto act = gate / (exp(gate * -1.702) + 1.0) * (up + 1.0);
    const Hidden y = apply.template operator()<Mlp>(m.experts.down_proj, act) * take<Candidate>(weight, e);
    out = out ? *out + y : y;
  }
  return *out;
}

TEST(ClampedExperts, LikeAllExpertsWithWeightsOfNothing) {
  const Hidden x = tokens(1);
  for (const std::int64_t k : {1, 2, 4}) {
    auto m = clamped();
    m.per_token = k;
    auto sums = none();
    const auto got = value_and_gradients(m, [&] { return m(x, {}, sums); });
    const auto want = value_and_gradients(m, [&] { return of_all_clamped(m, x); });
    ASSERT_EQ(want.size(), 1 + 8);
    for (std::size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i], 5e-5);
    m.experts.limit = 1e9;
    EXPECT_NE(m(x, {}, sums).to_vector(), got[0]) << "no gate reached the limit";
  }
}

TEST(ClampedExperts, SayWhatTheirParametersAre) {
  auto m = clamped();
  std::vector<std::string> found;
  for (const auto& p : parameters(m)) found.push_back(p.path + " " + std::string(core::role_name(p.role)));
  EXPECT_EQ(found,
            (std::vector<std::string>{"gate.weight router", "gate.bias bias",
                                      "experts.gate_proj.weight weight", "experts.gate_proj.bias bias",
                                      "experts.up_proj.weight weight", "experts.up_proj.bias bias",
                                      "experts.down_proj.weight weight", "experts.down_proj.bias bias"}));
  const auto low = cast_parameters(m, core::DType::bf16);
  EXPECT_EQ(low.gate(cast(tokens(1), core::DType::bf16)).dtype(), core::DType::f32);
  auto sums = none();
  const auto y = low(cast(tokens(1), core::DType::bf16), {}, sums);
  EXPECT_EQ(y.dtype(), core::DType::bf16);
}

// The gradient of a gate goes on up to the limit itself, and that of the other half up to both ends.
TEST(ClampedExperts, GradientsStopBeyondTheLimit) {
  using X = Named<Embed>;
  const auto vector = [](std::vector<float> values) { return X(from_vector(values, Dim<Embed>{4})); };
  X gate = vector({-9, 0, 7, 8}), up = vector({-7, -7.5F, 7, 7.5F});
  std::vector<core::Array*> inputs{&gate.mutable_array(), &up.mutable_array()};
  const auto result =
      core::value_and_grad(inputs, [&] { return total(clamped_swiglu(gate, up, 7)).array(); });
  const auto swish = [](double x) { return x / (1 + std::exp(-1.702 * x)); };
  expect_near(clamped_swiglu(gate, up, 7).to_vector(),
              {float(-6 * swish(-9)), 0, float(8 * swish(7)), float(8 * swish(7))});
  const auto of_gate = result.gradients[0].to_vector<float>(), of_up = result.gradients[1].to_vector<float>();
  EXPECT_EQ(of_gate[3], 0);
  EXPECT_NEAR(of_gate[2], 8, 1e-3);
  expect_near(of_up, {float(swish(-9)), 0, float(swish(7)), 0});
}

TEST(Experts, CountWhatTheirRoutersDo) {
  const Mixture m = mixture();
  auto sums = none();
  m(tokens(1), {}, sums);
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

// Three of five tokens of the first text are there, and all of the second: as the eight alone.
TEST(Experts, PaddingDoesNotCount) {
  const Mixture m = mixture();
  const std::vector<float> there{1, 1, 1, 0, 0, 1, 1, 1, 1, 1};
  const std::array<std::int64_t, 2> sizes{2, 5};
  const Context padded{.present = core::from_data({Axes<Batch, Pos>::names, sizes}, std::span(there))};
  auto sums = none(), want = none();
  const auto out = m(tokens(1), padded, sums).to_vector();
  EXPECT_EQ(out, m(tokens(1), {}, want).to_vector()) << "padding passes the experts, too";

  const auto all = tokens(1).to_vector();
  std::vector<float> alone;
  for (std::size_t t = 0; t < there.size(); ++t)
    if (there[t] > 0)
      alone.insert(alone.end(), all.begin() + std::ptrdiff_t(6 * t), all.begin() + std::ptrdiff_t(6 * t + 6));
  want = none();
  m(from_vector(alone, Dim<Batch>{1}, Dim<Pos>{8}, Dim<Embed>{6}), {}, want);
  EXPECT_EQ(sums.load.to_vector(), want.load.to_vector());
  expect_near(sums.probability.to_vector(), want.probability.to_vector());
  for (const auto& [got, wanted] :
       {std::pair(sums.balance, want.balance), std::pair(sums.z, want.z),
        std::pair(sums.greatest, want.greatest), std::pair(sums.least, want.least)})
    EXPECT_NEAR(got.item(), wanted.item(), 1e-5);

  const Context nothing{.present = core::zeros({Axes<Batch, Pos>::names, sizes})};
  sums = none();
  m(tokens(1), nothing, sums);
  Objective objective{core::full({Axes<>::names, {}}, 0), core::full({Axes<>::names, {}}, 0)};
  add_router_terms(objective, sums, {.load_balance = 1, .z_loss = 1, .auxiliary = 1}, 1);
  EXPECT_EQ(objective.loss.item(), 0);
}

TEST(Experts, LossesOfRouters) {
  const Mixture m = mixture(), other = mixture(4);
  auto sums = none();
  m(tokens(1), {}, sums);
  other(tokens(2), {}, sums);
  const auto scalar = [](double x) { return core::full({Axes<>::names, {}}, x); };
  double auxiliary = 0;
  for (std::size_t i = 0; i < kExperts; ++i)
    auxiliary +=
        kExperts * double(sums.load.to_vector()[i]) / 20 * double(sums.probability.to_vector()[i]) / 20;
  const auto loss_with = [&](const RouterLosses& losses) {
    Objective out{scalar(100), scalar(7)};
    add_router_terms(out, sums, losses, 2);
    EXPECT_EQ(out.without_penalties.item(), 100);
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
  Flow operator()(const Flow& in, const Context& context) const {
    Flow out = in;
    out.x = in.x + mlp(in.x, context, out.router);
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
  const auto y = low(cast(tokens(1), core::DType::bf16), {}, sums);
  EXPECT_EQ(y.dtype(), core::DType::bf16);
  expect_near(cast(y, core::DType::f32).to_vector(), m(tokens(1), {}, sums).to_vector(), 0.1);
}

}  // namespace
}  // namespace bora::nn
