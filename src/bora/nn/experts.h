// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A mixture of experts (Shazeer et al. 2017; Jiang et al. 2024): each token passes a few gated MLPs of many,
// those that a router gives the highest probability. No token is dropped.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "bora/core/device.h"
#include "bora/core/grouped.h"
#include "bora/core/routing.h"
#include "bora/nn/context.h"
#include "bora/nn/mlp.h"
#include "bora/nn/objective.h"

namespace bora::nn {

/// The experts as a router sees them: not a model's axis of experts, so that no mesh axis serves it and all
/// ranks choose alike.
struct Candidate : axis<"candidate"> {};
struct Choice : axis<"choice"> {};         ///< the experts of one token, the most probable first
struct Slot : axis<"slot"> {};             ///< visits of tokens to experts
struct OwnExpert : axis<"own_expert"> {};  ///< experts that one rank computes

/// What the routers of a pass have done, for the layers that it has been through.
struct RouterSums {
  Named<Candidate> load;         ///< visits, over all layers
  Named<Candidate> probability;  ///< over all layers and tokens
  Named<> balance;          ///< over layers: Σ load_e · E/k · p_e, load and p as shares of the layer's
  Named<> z;                ///< over layers: mean over tokens of logsumexp² of the logits
  Named<> greatest, least;  ///< load of any layer's experts, as a multiple of the even one

  static RouterSums none(Dim<Candidate> experts);
};

/// Losses of routers; each is off by default.
struct RouterLosses {
  std::optional<double> load_balance = {};  ///< times `balance` (Levanter's lbl_coef)
  std::optional<double> z_loss = {};        ///< times `z` (Levanter's rzl_coef; Zoph et al. 2022)
  /// Times E · Σ f_e · p_e, f and p being visits and probabilities a token over all layers together (Hugging
  /// Face's router_aux_loss_coef; Fedus et al. 2021). k where the load is even.
  std::optional<double> auxiliary = {};
};

/// Adds the losses that are on, each times the objective's weight, and the metrics router/load_balance
/// (`auxiliary` before its coefficient), router/z_loss (a layer's), router/load_max and router/load_min (1
/// where the load is even). `layers`: those with experts.
void add_router_terms(Objective& objective, const RouterSums& sums, const RouterLosses& losses,
                      std::int64_t layers);

template <Axis Embed>
struct Router {
  static constexpr std::string_view kind = "Router";
  static constexpr core::Role role = core::Role::router;
  using in = Axes<Embed>;
  Named<Candidate, Embed> weight;
  using fields = Fields<&Router::weight>;

  static Router init(Dim<Embed> embed, std::int64_t experts, Key key, double std) {
    return {normal_parameter(key, std, SizesOf<Axes<Candidate, Embed>>{Dim<Candidate>{experts}, embed})};
  }

  /// Logits in fp32, whatever x is.
  template <NamedTensor X>
    requires HasAxes<X, Embed>
  auto operator()(const X& x) const {
    using Result = concat<without<axes_of<X>, Axes<Embed>>, Axes<Candidate>>;
    const auto wide = cast(x, core::DType::f32);
    const auto w = cast(weight, core::DType::f32);
    return named_over<Result>::adopt(core::linear(wide.operand(), w.operand(), {}, Result::names));
  }
};

/// A linear map for each expert.
template <Axis Expert, Axis In, Axis Out>
struct ExpertLinear {
  static constexpr std::string_view kind = "ExpertLinear";
  using in = Axes<In>;
  Named<Expert, Out, In> weight;
  using fields = Fields<&ExpertLinear::weight>;

  static ExpertLinear init(Dim<Expert> experts, Dim<In> in, Dim<Out> out, Key key, double std) {
    return {normal_parameter(key, std, SizesOf<Axes<Expert, Out, In>>{experts, out, in})};
  }
};

/// down(act(gate(x)) · up(x)) of each slot's expert.
template <Axis Expert, Axis Embed, Axis Mlp>
struct GatedExperts {
  static constexpr std::string_view kind = "Mlp";
  ExpertLinear<Expert, Embed, Mlp> gate_proj, up_proj;
  ExpertLinear<Expert, Mlp, Embed> down_proj;
  core::Activation activation = core::Activation::silu;
  using fields = Fields<&GatedExperts::gate_proj, &GatedExperts::up_proj, &GatedExperts::down_proj,
                        &GatedExperts::activation>;

  /// `keys`: of gate, up and down.
  static GatedExperts init(Dim<Expert> number, Dim<Embed> embed, Dim<Mlp> mlp, const std::array<Key, 3>& keys,
                           double std) {
    const auto& [kg, ku, kd] = keys;
    return {ExpertLinear<Expert, Embed, Mlp>::init(number, embed, mlp, kg, std),
            ExpertLinear<Expert, Embed, Mlp>::init(number, embed, mlp, ku, std),
            ExpertLinear<Expert, Mlp, Embed>::init(number, mlp, embed, kd, std)};
  }

  Named<Slot, Embed> operator()(const Named<Slot, Embed>& x, const core::Array& rows) const {
    const std::array parameters{gate_proj.weight.operand(), up_proj.weight.operand(),
                                down_proj.weight.operand()};
    const auto own = [f = activation](const core::Array& slots, const core::Array& counts,
                                      std::span<const core::Array> w) {
      constexpr core::Names kIn = Axes<Slot, Embed>::names, kMiddle = Axes<Slot, Mlp>::names,
                            kUp = Axes<OwnExpert, Mlp, Embed>::names,
                            kDown = Axes<OwnExpert, Embed, Mlp>::names;
      const core::Operand s{slots, kIn};
      const auto gate = core::grouped_linear(s, counts, {w[0], kUp}, {}, kMiddle);
      const auto up = core::grouped_linear(s, counts, {w[1], kUp}, {}, kMiddle);
      const auto act = core::gated(f, {gate, kMiddle}, {up, kMiddle});
      return core::grouped_linear({act, kMiddle}, counts, {w[2], kDown}, {}, kIn);
    };
    return Named<Slot, Embed>::adopt(
        core::with_own_experts(x.operand(), rows, Expert::name, parameters, own));
  }
};

/// What a block has in place of its MLP: a router, and experts as gated MLPs. Others: nn/clamped_experts.h.
template <Axis Expert, Axis Embed, Axis Mlp, class Gate = Router<Embed>,
          class Each = GatedExperts<Expert, Embed, Mlp>>
struct Experts {
  static constexpr std::string_view kind = "Experts";
  Gate gate;
  Each experts;
  std::int64_t per_token = 2;
  bool renormalize = true;  ///< the weights of a token's experts add up to 1; else they are probabilities
  using fields = Fields<&Experts::gate, &Experts::experts, &Experts::per_token, &Experts::renormalize>;

  static Experts init(Dim<Expert> number, Dim<Embed> embed, Dim<Mlp> mlp, Key key, double std) {
    const auto [kr, kg, ku, kd] = key.split<4>();
    return {.gate = Gate::init(embed, number.size, kr, std),
            .experts = Each::init(number, embed, mlp, {kg, ku, kd}, std)};
  }

  /// x [tokens..., embed], and back; adds to `sums`, to which padding (Context::present) does not count.
  template <NamedTensor X>
    requires HasAxes<X, Embed>
  X operator()(const X& x, const Context& context, RouterSums& sums) const {
    using Tokens = without<axes_of<X>, Axes<Embed>>;
    using Out = concat<Tokens, Axes<Embed>>;
    constexpr core::Names kSlots = Axes<Slot, Embed>::names;
    const auto logits = gate(x);
    const auto probability = softmax<Candidate>(logits);
    auto [weights, chosen] = top_k<Candidate>(probability, Dim<Choice>{per_token});
    if (renormalize) weights = weights / sum<Choice>(weights);
    const auto& each = experts.up_proj.weight;
    const core::ExpertMaps maps{
        x.dtype(), {each.template size<Embed>(), each.template size<Mlp>()}, Expert::name};
    const auto routing = core::route(chosen.operand(), gate.weight.template size<Candidate>(), &maps);
    if (context.present.empty())
      add(sums, logits, probability, visits(probability, routing.rows));
    else
      add_present(sums, logits, probability, chosen, named_over<Tokens>::adopt(context.present));
    const auto slots = Named<Slot, Embed>::adopt(core::dispatch(x.operand(), routing, Tokens::names, kSlots));
    const auto y = experts(slots, routing.groups);
    return named_over<Out>::adopt(core::combine(y.operand(), weights.operand(), routing, Out::names));
  }

 private:
  // Of each candidate.
  template <NamedTensor P>
  static Named<Candidate> visits(const P& probability, const core::Array& rows) {
    struct Part : axis<"part"> {};
    const auto counts = core::to(rows, core::device_of(probability.array()));
    return sum<Part>(
        from_array<Candidate, Part>(core::cast({counts, Axes<Candidate, Part>::names}, core::DType::f32)));
  }
  template <NamedTensor L>
  static void add(RouterSums& sums, const L& logits, const L& probability, const Named<Candidate>& load) {
    const auto p = over_tokens(probability, without<axes_of<L>, Axes<Candidate>>());
    add(sums, load, total(load), p, mean_all(square(logsumexp<Candidate>(logits))));
  }
  template <NamedTensor L, IndexTensor I, NamedTensor T>
  static void add_present(RouterSums& sums, const L& logits, const L& probability, const I& chosen,
                          const T& present) {
    using Tokens = axes_of<T>;
    const Dim<Choice> choices{chosen.template size<Choice>()};
    const auto none = zeros(Dim<Candidate>{probability.template size<Candidate>()});
    const auto load = scatter_add<Candidate>(none, chosen, broadcast(present, choices));
    const auto p = over_tokens(probability * present, Tokens());
    const auto z = total(square(logsumexp<Candidate>(logits)) * present) / at_least_one(total(present));
    add(sums, load, at_least_one(total(load)), p, z);
  }
  // k visits for each token; p and z: see RouterSums.
  static void add(RouterSums& sums, const Named<Candidate>& load, const Named<>& all,
                  const Named<Candidate>& p, const Named<>& z) {
    const auto visits = stop_gradient(all);
    const double e = static_cast<double>(load.template size<Candidate>());
    const auto share = load / visits;
    sums.load += load;
    sums.probability += p;
    sums.balance += total(share * p) / visits * e;  // p · k / visits is the mean; E / k times that
    sums.z += z;
    sums.greatest = maximum(sums.greatest, max<Candidate>(share) * e);
    sums.least = minimum(sums.least, min<Candidate>(share) * e);
  }
  // A lane may hold nothing but padding.
  static Named<> at_least_one(const Named<>& x) { return maximum(x, 1.0); }
  template <NamedTensor P, Axis... Ts>
  static Named<Candidate> over_tokens(const P& p, Axes<Ts...>) {
    return sum<Ts...>(p);
  }
};

}  // namespace bora::nn
