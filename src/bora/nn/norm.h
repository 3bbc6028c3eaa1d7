// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/core/norm.h"
#include "bora/named/fields.h"
#include "bora/named/ops.h"
#include "bora/nn/init.h"

namespace bora::nn {

/// x / sqrt(mean(x²) + eps) · weight over an axis (Zhang and Sennrich 2019).
template <Axis Over>
struct RmsNorm {
  static constexpr std::string_view kind = "RmsNorm";
  static constexpr core::Role role = core::Role::norm;
  Named<Over> weight;
  double eps = 1e-5;
  using fields = Fields<&RmsNorm::weight, &RmsNorm::eps>;

  static RmsNorm init(Dim<Over> dim, double eps) { return {ones_parameter(SizesOf<Axes<Over>>{dim}), eps}; }

  template <NamedTensor X>
  requires HasAxes<X, Over> X operator()(const X& x) const {
    return X::adopt(core::rms_norm(x.operand(), weight.array(), Axes<Over>::names, eps));
  }
};

/// (x - mean) / sqrt(var + eps) · weight + bias over an axis (Ba et al. 2016), biased variance.
template <Axis Over>
struct LayerNorm {
  static constexpr std::string_view kind = "LayerNorm";
  static constexpr core::Role role = core::Role::norm;
  Named<Over> weight, bias;
  double eps = 1e-5;
  using fields = Fields<&LayerNorm::weight, &LayerNorm::bias, &LayerNorm::eps>;

  static LayerNorm init(Dim<Over> dim, double eps) {
    SizesOf<Axes<Over>> sizes{dim};
    return {ones_parameter(sizes), zeros_parameter(sizes), eps};
  }

  template <NamedTensor X>
  requires HasAxes<X, Over> X operator()(const X& x) const {
    return X::adopt(core::layer_norm(x.operand(), weight.array(), bias.array(), Axes<Over>::names, eps));
  }
};

}  // namespace bora::nn
