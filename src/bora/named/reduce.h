// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Reductions, and what ranks elements along an axis. Included by ops.h.
#pragma once
#include <utility>

#include "bora/core/elementwise.h"
#include "bora/core/reduce.h"
#include "bora/named/named.h"

namespace bora {

namespace detail {
template <class Over, NamedTensor X>
auto reduce(core::Reduction op, const X& x) {
  return named_over<without<axes_of<X>, Over>>::adopt(core::reduce(op, x.operand(), Over::names));
}
// Of a mask: the share that is true, in f32.
template <class Over, NamedTensor X>
auto mean(const X& x) {
  if (x.dtype() != core::DType::boolean) return reduce<Over>(core::Reduction::mean, x);
  return reduce<Over>(core::Reduction::mean, X::adopt(core::cast(x.operand(), core::DType::f32)));
}
}  // namespace detail

/// The sum over one or several axes, which disappear.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto sum(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::sum, x);
}
/// The mean over one or several axes, which disappear; of a mask, the share that is true, in f32.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto mean(const X& x) {
  return detail::mean<Axes<Over...>>(x);
}
/// The largest element over one or several axes, which disappear.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto max(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::max, x);
}
/// The smallest element over one or several axes, which disappear.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto min(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::min, x);
}
/// The biased variance over one or several axes, which disappear: divided by the number of elements.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto var(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::var, x);
}
/// log(sum(exp(x))) over one or several axes, which disappear, without overflow.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto logsumexp(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::logsumexp, x);
}
/// Whether any element is true (not zero) over one or several axes, which disappear.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto any(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::any, x);
}
/// Whether all elements are true (not zero) over one or several axes, which disappear.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
auto all(const X& x) {
  return detail::reduce<Axes<Over...>>(core::Reduction::all, x);
}

/// All axes, to a scalar.
template <NamedTensor X>
Named<> total(const X& x) {
  return detail::reduce<axes_of<X>>(core::Reduction::sum, x);
}
template <NamedTensor X>
Named<> mean_all(const X& x) {
  return detail::mean<axes_of<X>>(x);
}

template <Axis Over, NamedTensor X>
  requires HasAxes<X, Over>
auto argmax(const X& x) {
  return indices_over<without<axes_of<X>, Axes<Over>>>::adopt(core::argmax(x.operand(), Over::name));
}
/// Over one or several axes together: softmax<Height, Width>.
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
X softmax(const X& x) {
  return X::adopt(core::softmax(x.operand(), Axes<Over...>::names));
}
template <Axis... Over, NamedTensor X>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...>)
X log_softmax(const X& x) {
  return X::adopt(core::log_softmax(x.operand(), Axes<Over...>::names));
}
template <Axis Over, NamedTensor X>
  requires HasAxes<X, Over>
X cumsum(const X& x) {
  return X::adopt(core::cumsum(x.operand(), Over::name));
}

/// The k largest along Over, descending; Over becomes K. Values and places.
template <Axis Over, Axis K, NamedTensor X>
  requires(HasAxes<X, Over> && LacksAxes<X, K>)
auto top_k(const X& x, Dim<K> k) {
  using Out = renamed<axes_of<X>, Over, K>;
  auto [values, places] = core::top_k(x.operand(), Over::name, k.size);
  return std::pair{named_over<Out>::adopt(std::move(values)), indices_over<Out>::adopt(std::move(places))};
}
template <Axis Over, NamedTensor X>
  requires HasAxes<X, Over>
auto sort(const X& x, bool descending = false) {
  auto [values, places] = core::sort(x.operand(), Over::name, descending);
  return std::pair{X::adopt(std::move(values)), indices_over<axes_of<X>>::adopt(std::move(places))};
}

}  // namespace bora
