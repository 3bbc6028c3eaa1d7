// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The experts of GPT-OSS (OpenAI 2025): biases everywhere, also in the router, and a gate that is clamped.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "bora/core/activation.h"
#include "bora/nn/clip.h"
#include "bora/nn/experts.h"

namespace bora::nn {

/// A Router with a bias for each expert.
template <Axis Embed>
struct BiasedRouter {
  static constexpr std::string_view kind = "Router";
  static constexpr core::Role role = core::Role::router;
  using in = Axes<Embed>;
  Named<Candidate, Embed> weight;
  Named<Candidate> bias;
  using fields = Fields<&BiasedRouter::weight, &BiasedRouter::bias>;

  /// Zero biases.
  static BiasedRouter init(Dim<Embed> embed, std::int64_t experts, Key key, double std) {
    const Dim<Candidate> candidates{experts};
    return {normal_parameter(key, std, SizesOf<Axes<Candidate, Embed>>{candidates, embed}),
            zeros_parameter(SizesOf<Axes<Candidate>>{candidates})};
  }

  /// Logits in fp32, whatever x is.
  template <NamedTensor X>
    requires HasAxes<X, Embed>
  auto operator()(const X& x) const {
    using Result = concat<without<axes_of<X>, Axes<Embed>>, Axes<Candidate>>;
    const auto wide = cast(x, core::DType::f32);
    const auto w = cast(weight, core::DType::f32);
    const auto b = cast(bias, core::DType::f32);
    return named_over<Result>::adopt(core::linear(wide.operand(), w.operand(), b.array(), Result::names));
  }
};

/// A linear map with a bias for each expert.
template <Axis Expert, Axis In, Axis Out>
struct BiasedExpertLinear {
  static constexpr std::string_view kind = "ExpertLinear";
  using in = Axes<In>;
  Named<Expert, Out, In> weight;
  Named<Expert, Out> bias;
  using fields = Fields<&BiasedExpertLinear::weight, &BiasedExpertLinear::bias>;

  /// Zero biases.
  static BiasedExpertLinear init(Dim<Expert> experts, Dim<In> in, Dim<Out> out, Key key, double std) {
    return {normal_parameter(key, std, SizesOf<Axes<Expert, Out, In>>{experts, out, in}),
            zeros_parameter(SizesOf<Axes<Expert, Out>>{experts, out})};
  }
};

/// g · σ(1.702 g) · (u + 1), where g is the gate, at most `limit`, and u is `up` within [-limit, limit].
template <NamedTensor X>
X clamped_swiglu(const X& gate, const X& up, double limit) {
  const X g = at_most(gate, limit), u = clipped(up, limit) + 1.0;
  return X::adopt(core::gated(core::Activation::quick_gelu, g.operand(), u.operand()));
}

/// down(clamped_swiglu(gate(x), up(x))) of each slot's expert.
template <Axis Expert, Axis Embed, Axis Mlp>
struct ClampedExperts {
  static constexpr std::string_view kind = "Mlp";
  using In = BiasedExpertLinear<Expert, Embed, Mlp>;
  using Out = BiasedExpertLinear<Expert, Mlp, Embed>;
  In gate_proj, up_proj;
  Out down_proj;
  double limit = 7;
  using fields = Fields<&ClampedExperts::gate_proj, &ClampedExperts::up_proj, &ClampedExperts::down_proj,
                        &ClampedExperts::limit>;

  /// `keys`: of gate, up and down.
  static ClampedExperts init(Dim<Expert> number, Dim<Embed> embed, Dim<Mlp> mlp,
                             const std::array<Key, 3>& keys, double std) {
    return {In::init(number, embed, mlp, keys[0], std), In::init(number, embed, mlp, keys[1], std),
            Out::init(number, mlp, embed, keys[2], std)};
  }

  Named<Slot, Embed> operator()(const Named<Slot, Embed>& x, const core::Array& rows) const {
    const std::array parameters{gate_proj.weight.operand(), gate_proj.bias.operand(),
                                up_proj.weight.operand(),   up_proj.bias.operand(),
                                down_proj.weight.operand(), down_proj.bias.operand()};
    const auto own = [at = limit](const core::Array& slots, const core::Array& counts,
                                  std::span<const core::Array> p) {
      using Middle = Named<Slot, Mlp>;
      constexpr core::Names kIn = Axes<Slot, Embed>::names, kMiddle = Axes<Slot, Mlp>::names,
                            kUp = Axes<OwnExpert, Mlp, Embed>::names,
                            kDown = Axes<OwnExpert, Embed, Mlp>::names;
      const core::Operand s{slots, kIn};
      const auto gate = Middle::adopt(core::grouped_linear(s, counts, {p[0], kUp}, p[1], kMiddle));
      const auto up = Middle::adopt(core::grouped_linear(s, counts, {p[2], kUp}, p[3], kMiddle));
      const Middle act = clamped_swiglu(gate, up, at);
      return core::grouped_linear(act.operand(), counts, {p[4], kDown}, p[5], kIn);
    };
    return Named<Slot, Embed>::adopt(
        core::with_own_experts(x.operand(), rows, Expert::name, parameters, own));
  }
};

}  // namespace bora::nn
