// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What is often written and cannot be meant: overloads that nothing may call, so that the compiler says in
// one sentence, at the line that called, what is wrong. Included by ops.h.
#pragma once
#include <concepts>

#include "bora/named/named.h"

namespace bora {

namespace detail {
template <class A, class List>
inline constexpr bool has_namesake = false;
template <class A, class... Bs>
inline constexpr bool has_namesake<A, Axes<Bs...>> = ((!std::is_same_v<A, Bs> && A::name == Bs::name) || ...);
template <class X, class Y>
inline constexpr bool namesakes = false;
template <class... As, class Y>
inline constexpr bool namesakes<Axes<As...>, Y> = (has_namesake<As, Y> || ...);
}  // namespace detail

/// An axis of one and another axis of the other have the same name but are two types.
template <class X, class Y>
concept OneNameTwoTypes = AnyTensor<X> && AnyTensor<Y> && detail::namesakes<axes_of<X>, axes_of<Y>>;
template <class X, class Y>
concept CannotMeet = !Broadcastable<X, Y> && OneNameTwoTypes<X, Y>;

template <NamedTensor X, NamedTensor Y>
  requires CannotMeet<X, Y>
__attribute__((unavailable("two axis types have one name; use one struct, or rename<From, To>(x)"))) X
operator+(const X& x, const Y& y);
template <NamedTensor X, NamedTensor Y>
  requires CannotMeet<X, Y>
__attribute__((unavailable("two axis types have one name; use one struct, or rename<From, To>(x)"))) X
operator-(const X& x, const Y& y);
template <NamedTensor X, NamedTensor Y>
  requires CannotMeet<X, Y>
__attribute__((unavailable("two axis types have one name; use one struct, or rename<From, To>(x)"))) X
operator*(const X& x, const Y& y);
template <NamedTensor X, NamedTensor Y>
  requires CannotMeet<X, Y>
__attribute__((unavailable("two axis types have one name; use one struct, or rename<From, To>(x)"))) X
operator/(const X& x, const Y& y);
template <Axis... Over, NamedTensor X, NamedTensor Y>
  requires(sizeof...(Over) > 0 && !(HasAxes<X, Over...> && HasAxes<Y, Over...>) && OneNameTwoTypes<X, Y>)
__attribute__((unavailable("two axis types have one name; use one struct, or rename<From, To>(x)"))) X
dot(const X& x, const Y& y);

template <NamedTensor X, NamedTensor Y>
__attribute__((unavailable("say which axes it sums over: dot<Embed>(x, y)"))) X dot(const X& x, const Y& y);
#if defined(__clang__)  // as in refusals_for_clang.h
template <Axis... Over, NamedTensor X, NamedTensor Y>
  requires(sizeof...(Over) > 0 && !(HasAxes<X, Over...> && HasAxes<Y, Over...>) && !OneNameTwoTypes<X, Y>)
__attribute__((unavailable("both tensors must have the axes summed over"))) X dot(const X& x, const Y& y);
#endif

// Reductions without axes.
template <NamedTensor X>
__attribute__((unavailable("say over which axes: sum<Embed>(x); over all of them: total(x)"))) X
sum(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: mean<Embed>(x); over all of them: mean_all(x)"))) X
mean(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: max<Embed>(x)"))) X max(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: min<Embed>(x)"))) X min(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: var<Embed>(x)"))) X var(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: logsumexp<Embed>(x)"))) X logsumexp(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: any<Embed>(x)"))) X any(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: all<Embed>(x)"))) X all(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: softmax<Embed>(x)"))) X softmax(const X& x);
template <NamedTensor X>
__attribute__((unavailable("say over which axes: log_softmax<Embed>(x)"))) X log_softmax(const X& x);

}  // namespace bora

#if defined(__clang__)
#include "bora/named/refusals_for_clang.h"  // IWYU pragma: export
#endif
