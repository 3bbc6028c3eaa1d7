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

// What g++ says of a call that fits no function names the call's types; clang's first line names nothing but the
// function. So for clang, whose first line says of an unavailable function with which types it was called.
#if defined(__clang__)
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X sum(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X mean(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X max(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X min(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X var(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X logsumexp(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X any(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over"))) X all(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is taken over"))) X softmax(const X& x);
template <Axis... Over, NamedTensor X>
  requires(!HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is taken over"))) X log_softmax(const X& x);
template <Axis Over, NamedTensor X>
  requires(!HasAxes<X, Over>)
__attribute__((unavailable("the tensor must have the axis that it is taken over"))) X argmax(const X& x);
template <Axis Over, NamedTensor X>
  requires(!HasAxes<X, Over>)
__attribute__((unavailable("the tensor must have the axis that it is summed along"))) X cumsum(const X& x);

template <Axis From, Axis To, AnyTensor X>
  requires(!(HasAxes<X, From> && LacksAxes<X, To>))
__attribute__((unavailable("rename<From, To>(x): x must have From, and must not have To"))) X
rename(const X& x);
template <Axis Along, NamedTensor X, NamedTensor I>
__attribute__((unavailable("what is looked up must be ids: Indices, not numbers"))) X take(const X& x,
                                                                                           const I& ids);

template <Axis... Over, NamedTensor X, NamedTensor Y>
  requires(sizeof...(Over) > 0 && !(HasAxes<X, Over...> && HasAxes<Y, Over...>) && !OneNameTwoTypes<X, Y>)
__attribute__((unavailable("both tensors must have the axes summed over"))) X dot(const X& x, const Y& y);
template <Axis... Over, AnyTensor X, AnyTensor Y>
  requires(IndexTensor<X> || IndexTensor<Y>)
__attribute__((
    unavailable("ids are no numbers to multiply with: one_hot(ids, Dim<Vocab>{n}), or embedding(ids)"))) X
dot(const X& x, const Y& y);

namespace detail {
struct nothing {  // of a refused call, so that there is one complaint and not two
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
}  // namespace detail
template <std::integral Size, std::integral... Sizes>
__attribute__((unavailable("a size needs its axis: zeros(Dim<Embed>{512})"))) detail::nothing zeros(Size,
                                                                                                    Sizes...);
template <std::integral Size, std::integral... Sizes>
__attribute__((unavailable("a size needs its axis: ones(Dim<Embed>{512})"))) detail::nothing ones(Size,
                                                                                                  Sizes...);
#endif

}  // namespace bora
