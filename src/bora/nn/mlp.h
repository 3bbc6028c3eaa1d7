// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/activation.h"
#include "bora/nn/linear.h"

namespace bora::nn {

/// Activation names as in configurations (Levanter's and Hugging Face's).
core::Activation parse_activation(std::string_view name);

/// down(act(gate(x)) · up(x)) (Shazeer 2020).
template <Axis Embed, Axis Mlp>
struct GatedMlp {
  static constexpr std::string_view kind = "Mlp";
  Linear<Embed, Mlp> gate_proj, up_proj;
  Linear<Mlp, Embed> down_proj;
  core::Activation activation = core::Activation::silu;
  using fields =
      Fields<&GatedMlp::gate_proj, &GatedMlp::up_proj, &GatedMlp::down_proj, &GatedMlp::activation>;

  /// Normal weights of standard deviation `std`, zero biases.
  static GatedMlp init(Dim<Embed> embed, Dim<Mlp> mlp, Key key, double std, core::Activation activation,
                       bool with_bias = false) {
    auto [gate, up, down] = key.split<3>();
    return {Linear<Embed, Mlp>::init(embed, mlp, gate, std, with_bias),
            Linear<Embed, Mlp>::init(embed, mlp, up, std, with_bias),
            Linear<Mlp, Embed>::init(mlp, embed, down, std, with_bias), activation};
  }

  template <NamedTensor X>
    requires(HasAxes<X, Embed> && LacksAxes<X, Mlp>)
  X operator()(const X& x) const {
    auto [gate, up] = linears(x, gate_proj, up_proj);
    return down_proj(decltype(gate)::adopt(core::gated(activation, gate.operand(), up.operand())));
  }
#if defined(__clang__)  // as in named/refusals_for_clang.h
  template <AnyTensor X>
  __attribute__((unavailable("GatedMlp<Embed, Mlp>: x must have the axis Embed and lack Mlp"))) X
  operator()(const X& x) const;
#endif
};

/// down(act(up(x)))
template <Axis Embed, Axis Mlp>
struct PlainMlp {
  static constexpr std::string_view kind = "Mlp";
  Linear<Embed, Mlp> up_proj;
  Linear<Mlp, Embed> down_proj;
  core::Activation activation = core::Activation::gelu_tanh;
  using fields = Fields<&PlainMlp::up_proj, &PlainMlp::down_proj, &PlainMlp::activation>;

  template <NamedTensor X>
    requires(HasAxes<X, Embed> && LacksAxes<X, Mlp>)
  X operator()(const X& x) const {
    return feed_forward(x, up_proj, activation, down_proj);
  }
#if defined(__clang__)  // as in named/refusals_for_clang.h
  template <AnyTensor X>
  __attribute__((unavailable("PlainMlp<Embed, Mlp>: x must have the axis Embed and lack Mlp"))) X
  operator()(const X& x) const;
#endif
};

}  // namespace bora::nn
