// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Arithmetic and functions element by element. Included by ops.h.
#pragma once
#include "bora/base/key.h"
#include "bora/core/activation.h"
#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/core/grad.h"
#include "bora/named/named.h"

namespace bora {

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
auto operator+(const X& x, const Y& y) {
  return detail::binary(core::Binary::add, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator-(const X& x, const Y& y) {
  return detail::binary(core::Binary::subtract, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator*(const X& x, const Y& y) {
  return detail::binary(core::Binary::multiply, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator/(const X& x, const Y& y) {
  return detail::binary(core::Binary::divide, x, y);
}
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

// x += y is x = x + y: another tensor under the same name, so y's axes lie within x's. Copies of x keep the
// old one.
template <NamedTensor X, NamedTensor Y>
  requires(subset<axes_of<Y>, axes_of<X>>)
X& operator+=(X& x, const Y& y) {
  return x = x + y;
}
template <NamedTensor X, NamedTensor Y>
  requires(subset<axes_of<Y>, axes_of<X>>)
X& operator-=(X& x, const Y& y) {
  return x = x - y;
}
template <NamedTensor X, NamedTensor Y>
  requires(subset<axes_of<Y>, axes_of<X>>)
X& operator*=(X& x, const Y& y) {
  return x = x * y;
}
template <NamedTensor X, NamedTensor Y>
  requires(subset<axes_of<Y>, axes_of<X>>)
X& operator/=(X& x, const Y& y) {
  return x = x / y;
}
template <NamedTensor X>
X& operator+=(X& x, double y) {
  return x = x + y;
}
template <NamedTensor X>
X& operator-=(X& x, double y) {
  return x = x - y;
}
template <NamedTensor X>
X& operator*=(X& x, double y) {
  return x = x * y;
}
template <NamedTensor X>
X& operator/=(X& x, double y) {
  return x = x / y;
}

template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto maximum(const X& x, const Y& y) {
  return detail::binary(core::Binary::maximum, x, y);
}
template <NamedTensor X>
X maximum(const X& x, double y) {
  return detail::binary(core::Binary::maximum, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto minimum(const X& x, const Y& y) {
  return detail::binary(core::Binary::minimum, x, y);
}
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
auto pow(const X& x, const Y& y) {
  return detail::binary(core::Binary::power, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto remainder(const X& x, const Y& y) {
  return detail::binary(core::Binary::remainder, x, y);
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
  requires(Broadcastable<X, Y> && subset<axes_of<M>, joined<axes_of<X>, axes_of<Y>>>)
auto where(const M& mask, const X& x, const Y& y) {
  using Out = joined<axes_of<X>, axes_of<Y>>;
  return named_over<Out>::adopt(core::where(mask.operand(), x.operand(), y.operand(), Out::names));
}
template <NamedTensor M, NamedTensor X>
  requires(subset<axes_of<M>, axes_of<X>>)
X where(const M& mask, const X& x, double otherwise) {
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

}  // namespace bora
