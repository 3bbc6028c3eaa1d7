// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string_view>

#include "bora/base/error.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/norm.h"
#include "bora/named/fields.h"
#include "bora/named/ops.h"
#include "bora/nn/init.h"

namespace bora::nn {

namespace detail {
// The core's norms take no weight as a weight of ones; in a model it was forgotten.
inline void require_weight(std::string_view kind, const core::Array& weight, core::Names over) {
  if (!weight.empty()) return;
  fail(ErrorKind::InvalidArgument, "{}: it has no weight over {}\nhint: make it with {}::init", kind,
       core::describe(over), kind);
}
}  // namespace detail

/// x / sqrt(mean(x²) + eps) · (offset + weight) over an axis, or several together as Axes<...> (Zhang and
/// Sennrich 2019). With an offset of 1 weight decay draws the scale to one (Gemma). Mean, product and sum are
/// fp32 whatever the dtype of the pass.
template <class Over>
struct RmsNorm {
  static constexpr std::string_view kind = "RmsNorm";
  static constexpr core::Role role = core::Role::norm;
  using over = as_axes<Over>;
  named_over<over> weight;
  double eps = 1e-5;
  double offset = 0;
  bool has_weight = true;
  using fields = Fields<&RmsNorm::weight, &RmsNorm::eps, &RmsNorm::offset, &RmsNorm::has_weight>;

  /// Scales by one.
  static RmsNorm init(const SizesOf<over>& sizes, double eps, double offset = 0) {
    return {filled_parameter(sizes, 1 - offset), eps, offset};
  }
  /// Scales by one for good.
  static RmsNorm without_weight(double eps) { return {{}, eps, 0, false}; }

  template <NamedTensor X>
    requires(subset<over, axes_of<X>>)
  X operator()(const X& x) const {
    if (has_weight) detail::require_weight(kind, weight.array(), over::names);
    return X::adopt(core::rms_norm(x.operand(), scale(), over::names, eps));
  }
#if defined(__clang__)  // as in named/refusals_for_clang.h
  template <AnyTensor X>
  __attribute__((unavailable("RmsNorm<Over>: x must have the axes Over"))) X operator()(const X& x) const;
#endif

 private:
  core::Array scale() const {
    if (offset == 0) return weight.array();
    const auto wide = cast(weight, core::DType::f32);
    return (wide + offset).array();
  }
};

/// (x - mean) / sqrt(var + eps) · weight [+ bias] over an axis (Ba et al. 2016), biased variance.
template <Axis Over>
struct LayerNorm {
  static constexpr std::string_view kind = "LayerNorm";
  static constexpr core::Role role = core::Role::norm;
  Named<Over> weight, bias;
  double eps = 1e-5;
  using fields = Fields<&LayerNorm::weight, &LayerNorm::bias, &LayerNorm::eps>;

  static LayerNorm init(Dim<Over> dim, double eps, bool with_bias = true) {
    SizesOf<Axes<Over>> sizes{dim};
    return {ones_parameter(sizes), with_bias ? zeros_parameter(sizes) : Named<Over>(), eps};
  }

  template <NamedTensor X>
    requires HasAxes<X, Over>
  X operator()(const X& x) const {
    detail::require_weight(kind, weight.array(), Axes<Over>::names);
    return X::adopt(core::layer_norm(x.operand(), weight.array(), bias.array(), Axes<Over>::names, eps));
  }
#if defined(__clang__)  // as in named/refusals_for_clang.h
  template <AnyTensor X>
  __attribute__((unavailable("LayerNorm<Over>: x must have the axis Over"))) X operator()(const X& x) const;
#endif
};

}  // namespace bora::nn
