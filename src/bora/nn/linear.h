// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "bora/named/fields.h"
#include "bora/named/ops.h"
#include "bora/nn/init.h"
#include "bora/nn/low_rank.h"

namespace bora::nn {

/// A weight [out..., in...] has each axis once. A square layer's result gets a name of its own, which may be
/// renamed afterwards: rename<Mixed, Embed>(Linear<Embed, Mixed>(x)).
template <class In, class Out>
concept ResultHasOtherAxesThanInput = distinct<concat<as_axes<Out>, as_axes<In>>>;
/// A tensor that Linear<In, Out> maps: it has the axes In and, beside them, none of Out.
template <class X, class In, class Out>
concept MapsFrom = subset<In, axes_of<X>> && distinct<concat<without<axes_of<X>, In>, Out>>;

/// y = W·x + b, from the axes In to the axes Out (one axis or Axes<...> each). The other axes of x are kept.
/// Weight [Out..., In...] as in PyTorch, so that on disk it is the matrix (out, in); bias [Out...] or none.
/// With an adapter (nn/lora.h) its low-rank path is added.
template <class In, class Out>
  requires ResultHasOtherAxesThanInput<In, Out>
struct Linear {
  static constexpr std::string_view kind = "Linear";
  using in = as_axes<In>;
  using out = as_axes<Out>;

  named_over<concat<out, in>> weight;
  named_over<out> bias;
  std::optional<LowRank<in, out>> lora;
  using fields = Fields<&Linear::weight, &Linear::bias, &Linear::lora>;

  /// Normal weights of standard deviation `std`, zero bias.
  static Linear init(const SizesOf<in>& in_sizes, const SizesOf<out>& out_sizes, Key key, double std,
                     bool with_bias = true) {
    Linear layer;
    layer.weight = normal_parameter(key, std, join_sizes(out_sizes, in_sizes));
    if (with_bias) layer.bias = zeros_parameter(out_sizes);
    return layer;
  }

  template <NamedTensor X>
    requires MapsFrom<X, in, out>
  auto operator()(const X& x) const {
    using Result = concat<without<axes_of<X>, in>, out>;
    auto y =
        named_over<Result>::adopt(core::linear(x.operand(), weight.operand(), bias.array(), Result::names));
    return lora ? y + (*lora)(x) : y;
  }
#if defined(__clang__)  // as in named/refusals_for_clang.h
  template <AnyTensor X>
  __attribute__((unavailable(
      "Linear<In, Out>: x must have the axes In and, beside them, none of Out; rename<From, To>(x)"))) X
  operator()(const X& x) const;
#endif
};

/// What each of `maps` makes of x, as if it were called with it: a tuple. On a device in bf16 it is one product,
/// unless a map has an adapter.
template <NamedTensor X, class... In, class... Out>
  requires(MapsFrom<X, as_axes<In>, as_axes<Out>> && ...)
auto linears(const X& x, const Linear<In, Out>&... maps) {
  if ((... || maps.lora.has_value())) return std::tuple{maps(x)...};
  const std::array<core::LinearMap, sizeof...(maps)> all{
      core::LinearMap{maps.weight.operand(), maps.bias.array(),
                      concat<without<axes_of<X>, as_axes<In>>, as_axes<Out>>::names}...};
  const auto products = core::linears(x.operand(), all);
  auto product = products.begin();
  return std::tuple{named_over<concat<without<axes_of<X>, as_axes<In>>, as_axes<Out>>>::adopt(*product++)...};
}

/// down(f(up(x))), as if it were written so. On a device in bf16 f may be computed within the products, unless a map has an
/// adapter.
template <NamedTensor X, class In, class Mid, class Out>
  requires(MapsFrom<X, as_axes<In>, as_axes<Mid>>)
auto feed_forward(const X& x, const Linear<In, Mid>& up, core::Activation f, const Linear<Mid, Out>& down) {
  using Inner = concat<without<axes_of<X>, as_axes<In>>, as_axes<Mid>>;
  using Result = concat<without<Inner, as_axes<Mid>>, as_axes<Out>>;
  if (up.lora || down.lora) return down(bora::detail::activate(f, up(x)));
  return named_over<Result>::adopt(
      core::feed_forward(x.operand(), {up.weight.operand(), up.bias.array(), Inner::names}, f,
                         {down.weight.operand(), down.bias.array(), Result::names}));
}

}  // namespace bora::nn
