// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Ops over named tensors. Each is a signature checked by the compiler around one dynamic call.
#pragma once
#include <array>
#include <utility>
#include <vector>

#include "bora/base/key.h"
#include "bora/core/activation.h"
#include "bora/core/contract.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/core/index.h"
#include "bora/core/reduce.h"
#include "bora/core/shape.h"
#include "bora/named/named.h"

namespace bora {

// ---- making
// ------------------------------------------------------------------------------------------------------

/// Names and sizes of a list of Dims, for the dynamic layer.
template <Axis... As>
struct ShapeOf {
  std::array<std::int64_t, sizeof...(As)> sizes;
  explicit ShapeOf(Dim<As>... dims) : sizes{dims.size...} {}
  operator core::Shape() const { return {Axes<As...>::names, sizes}; }  // NOLINT(google-explicit-constructor)
};

template <Axis... As>
Named<As...> zeros(Dim<As>... dims) {
  return Named<As...>::adopt(core::zeros(ShapeOf<As...>(dims...)));
}
template <Axis... As>
Named<As...> ones(Dim<As>... dims) {
  return Named<As...>::adopt(core::ones(ShapeOf<As...>(dims...)));
}
template <Axis... As>
Named<As...> full(double value, Dim<As>... dims) {
  return Named<As...>::adopt(core::full(ShapeOf<As...>(dims...), value));
}
/// 0, 1, 2, ... as numbers (fp32).
template <Axis A>
Named<A> arange(Dim<A> dim, double start = 0, double step = 1) {
  return Named<A>::adopt(core::arange(ShapeOf<A>(dim), start, step, core::DType::f32));
}
/// Copies row-major elements.
template <Axis... As, class T>
Named<As...> from_vector(const std::vector<T>& elements, Dim<As>... dims) {
  return Named<As...>::adopt(core::from_data(ShapeOf<As...>(dims...), std::span<const T>(elements)));
}
template <Axis... As, class T>
Indices<As...> indices_from_vector(const std::vector<T>& elements, Dim<As>... dims) {
  return indices_from_array<As...>(core::from_data(ShapeOf<As...>(dims...), std::span<const T>(elements)));
}
template <Axis... As>
Named<As...> random_uniform(Key key, double low, double high, Dim<As>... dims) {
  return Named<As...>::adopt(core::random_uniform(key, ShapeOf<As...>(dims...), low, high));
}
template <Axis... As>
Named<As...> random_normal(Key key, double mean, double std, Dim<As>... dims) {
  return Named<As...>::adopt(core::random_normal(key, ShapeOf<As...>(dims...), mean, std));
}
template <Axis... As>
Named<As...> random_truncated_normal(Key key, double low, double high, double scale, Dim<As>... dims) {
  return Named<As...>::adopt(core::random_truncated_normal(key, ShapeOf<As...>(dims...), low, high, scale));
}

// ---- elementwise
// -------------------------------------------------------------------------------------------------

namespace detail {
template <NamedTensor X, NamedTensor Y>
auto binary(core::Binary op, const X& x, const Y& y) {
  using Out = joined<axes_of<X>, axes_of<Y>>;
  return named_over<Out>::adopt(core::binary(op, x.operand(), y.operand(), Out::names));
}
template <NamedTensor X>
X binary(core::Binary op, const X& x, double y) {
  return X::adopt(core::binary(op, x.operand(), y));
}
template <NamedTensor X>
X binary(core::Binary op, double x, const X& y) {
  return X::adopt(core::binary(op, x, y.operand()));
}
template <NamedTensor X>
X unary(core::Unary op, const X& x) {
  return X::adopt(core::unary(op, x.operand()));
}
template <NamedTensor X>
X activate(core::Activation f, const X& x) {
  return X::adopt(core::activate(f, x.operand()));
}
}  // namespace detail

template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator+(const X& x, const Y& y) { return detail::binary(core::Binary::add, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator-(const X& x, const Y& y) { return detail::binary(core::Binary::subtract, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator*(const X& x, const Y& y) { return detail::binary(core::Binary::multiply, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator/(const X& x, const Y& y) { return detail::binary(core::Binary::divide, x, y); }
template <NamedTensor X>
X operator+(const X& x, double y) {
  return detail::binary(core::Binary::add, x, y);
}
template <NamedTensor X>
X operator-(const X& x, double y) {
  return detail::binary(core::Binary::subtract, x, y);
}
template <NamedTensor X>
X operator*(const X& x, double y) {
  return detail::binary(core::Binary::multiply, x, y);
}
template <NamedTensor X>
X operator/(const X& x, double y) {
  return detail::binary(core::Binary::divide, x, y);
}
template <NamedTensor X>
X operator+(double x, const X& y) {
  return detail::binary(core::Binary::add, x, y);
}
template <NamedTensor X>
X operator-(double x, const X& y) {
  return detail::binary(core::Binary::subtract, x, y);
}
template <NamedTensor X>
X operator*(double x, const X& y) {
  return detail::binary(core::Binary::multiply, x, y);
}
template <NamedTensor X>
X operator/(double x, const X& y) {
  return detail::binary(core::Binary::divide, x, y);
}
template <NamedTensor X>
X operator-(const X& x) {
  return detail::unary(core::Unary::negative, x);
}

template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto maximum(const X& x, const Y& y) { return detail::binary(core::Binary::maximum, x, y); }
template <NamedTensor X>
X maximum(const X& x, double y) {
  return detail::binary(core::Binary::maximum, x, y);
}
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto minimum(const X& x, const Y& y) { return detail::binary(core::Binary::minimum, x, y); }
template <NamedTensor X>
X minimum(const X& x, double y) {
  return detail::binary(core::Binary::minimum, x, y);
}
template <NamedTensor X>
X pow(const X& x, double y) {
  return detail::binary(core::Binary::power, x, y);
}
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto pow(const X& x, const Y& y) { return detail::binary(core::Binary::power, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto remainder(const X& x, const Y& y) { return detail::binary(core::Binary::remainder, x, y); }

// Comparisons give masks: tensors of booleans, for where, sum and logical ops.
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator<(const X& x, const Y& y) { return detail::binary(core::Binary::less, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator<=(const X& x, const Y& y) { return detail::binary(core::Binary::less_equal, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator>(const X& x, const Y& y) { return detail::binary(core::Binary::greater, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto operator>=(const X& x, const Y& y) { return detail::binary(core::Binary::greater_equal, x, y); }
template <NamedTensor X>
X operator<(const X& x, double y) {
  return detail::binary(core::Binary::less, x, y);
}
template <NamedTensor X>
X operator>(const X& x, double y) {
  return detail::binary(core::Binary::greater, x, y);
}
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto equal(const X& x, const Y& y) { return detail::binary(core::Binary::equal, x, y); }
template <NamedTensor X>
X equal(const X& x, double y) {
  return detail::binary(core::Binary::equal, x, y);
}
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto logical_and(const X& x, const Y& y) { return detail::binary(core::Binary::logical_and, x, y); }
template <NamedTensor X, NamedTensor Y>
requires Broadcastable<X, Y>
auto logical_or(const X& x, const Y& y) { return detail::binary(core::Binary::logical_or, x, y); }
template <NamedTensor X>
X logical_not(const X& x) {
  return detail::unary(core::Unary::logical_not, x);
}

template <NamedTensor X>
X abs(const X& x) {
  return detail::unary(core::Unary::abs, x);
}
template <NamedTensor X>
X exp(const X& x) {
  return detail::unary(core::Unary::exp, x);
}
template <NamedTensor X>
X log(const X& x) {
  return detail::unary(core::Unary::log, x);
}
template <NamedTensor X>
X sqrt(const X& x) {
  return detail::unary(core::Unary::sqrt, x);
}
template <NamedTensor X>
X rsqrt(const X& x) {
  return detail::unary(core::Unary::rsqrt, x);
}
template <NamedTensor X>
X square(const X& x) {
  return detail::unary(core::Unary::square, x);
}
template <NamedTensor X>
X sin(const X& x) {
  return detail::unary(core::Unary::sin, x);
}
template <NamedTensor X>
X cos(const X& x) {
  return detail::unary(core::Unary::cos, x);
}
template <NamedTensor X>
X tanh(const X& x) {
  return detail::unary(core::Unary::tanh, x);
}
template <NamedTensor X>
X sigmoid(const X& x) {
  return detail::activate(core::Activation::sigmoid, x);
}
template <NamedTensor X>
X relu(const X& x) {
  return detail::activate(core::Activation::relu, x);
}
template <NamedTensor X>
X silu(const X& x) {
  return detail::activate(core::Activation::silu, x);
}
template <NamedTensor X>
X gelu(const X& x) {
  return detail::activate(core::Activation::gelu, x);
}
template <NamedTensor X>
X gelu_tanh(const X& x) {
  return detail::activate(core::Activation::gelu_tanh, x);
}

/// Where the mask is true x, else y.
template <NamedTensor M, NamedTensor X, NamedTensor Y>
requires(Broadcastable<X, Y>&& subset<axes_of<M>, joined<axes_of<X>, axes_of<Y>>>) auto where(const M& mask,
                                                                                              const X& x,
                                                                                              const Y& y) {
  using Out = joined<axes_of<X>, axes_of<Y>>;
  return named_over<Out>::adopt(core::where(mask.operand(), x.operand(), y.operand(), Out::names));
}
template <NamedTensor M, NamedTensor X>
requires(subset<axes_of<M>, axes_of<X>>) X where(const M& mask, const X& x, double otherwise) {
  return X::adopt(core::where(mask.operand(), x.operand(), otherwise, axes_of<X>::names));
}
template <NamedTensor X>
X cast(const X& x, core::DType dtype) {
  return X::adopt(core::cast(x.operand(), dtype));
}
/// Zeroes elements with probability p and scales the rest by 1/(1-p).
template <NamedTensor X>
X dropout(const X& x, double p, Key key) {
  return X::adopt(core::dropout(x.operand(), p, key));
}
template <NamedTensor X>
X stop_gradient(const X& x) {
  return X::adopt(core::stop_gradient(x.array()));
}

// ---- reducing
// ----------------------------------------------------------------------------------------------------

namespace detail {
template <class Over, NamedTensor X>
auto reduce(core::Reduction op, const X& x) {
  return named_over<without<axes_of<X>, Over>>::adopt(core::reduce(op, x.operand(), Over::names));
}
}  // namespace detail

template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto sum(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::sum, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto mean(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::mean, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto max(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::max, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto min(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::min, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto var(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::var, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto logsumexp(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::logsumexp, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto any(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::any, x); }
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...>
auto all(const X& x) { return detail::reduce<Axes<Over...>>(core::Reduction::all, x); }

/// All axes, to a scalar.
template <NamedTensor X>
Named<> total(const X& x) {
  return detail::reduce<axes_of<X>>(core::Reduction::sum, x);
}
template <NamedTensor X>
Named<> mean_all(const X& x) {
  return detail::reduce<axes_of<X>>(core::Reduction::mean, x);
}

template <Axis Over, NamedTensor X>
requires HasAxes<X, Over>
auto argmax(const X& x) {
  return indices_over<without<axes_of<X>, Axes<Over>>>::adopt(core::argmax(x.operand(), Over::name));
}
/// Over one or several axes together: softmax<Height, Width>.
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...> X softmax(const X& x) {
  return X::adopt(core::softmax(x.operand(), Axes<Over...>::names));
}
template <Axis... Over, NamedTensor X>
requires HasAxes<X, Over...> X log_softmax(const X& x) {
  return X::adopt(core::log_softmax(x.operand(), Axes<Over...>::names));
}
template <Axis Over, NamedTensor X>
requires HasAxes<X, Over> X cumsum(const X& x) { return X::adopt(core::cumsum(x.operand(), Over::name)); }

/// The k largest along Over, descending; Over becomes K. Values and places.
template <Axis Over, Axis K, NamedTensor X>
requires(HasAxes<X, Over>&& LacksAxes<X, K>) auto top_k(const X& x, Dim<K> k) {
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

// ---- contracting
// -------------------------------------------------------------------------------------------------

/// Contracts over the named axes; other shared axes batch; the rest are kept. Order: the left operand's axes,
/// then the right's new ones.
template <Axis... Over, NamedTensor X, NamedTensor Y>
requires(sizeof...(Over) > 0 && HasAxes<X, Over...> && HasAxes<Y, Over...>) auto dot(const X& x, const Y& y) {
  using Out = without<joined<axes_of<X>, axes_of<Y>>, Axes<Over...>>;
  return named_over<Out>::adopt(core::dot(x.operand(), y.operand(), Out::names));
}

}  // namespace bora

#include "bora/named/shape_ops.h"  // IWYU pragma: export
