// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What g++ says of a call that fits no function names the call's types; clang's first line names nothing but the
// function. So these overloads, which nothing may call, are for clang, whose first line says of an unavailable function
// with which types it was called. They ask less of their operands than the functions of the same names, so that a call
// which fits one of those never comes here. Included by refusals.h.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bora/named/named.h"

namespace bora {

namespace detail {
struct nothing {  // of a refused call, so that there is one complaint and not two
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
}  // namespace detail

// ---- making tensors

template <std::integral Size, std::integral... Sizes>
__attribute__((unavailable("a size needs its axis: zeros(Dim<Embed>{512})"))) detail::nothing zeros(Size,
                                                                                                    Sizes...);
template <std::integral Size, std::integral... Sizes>
__attribute__((unavailable("a size needs its axis: ones(Dim<Embed>{512})"))) detail::nothing ones(Size,
                                                                                                  Sizes...);

// ---- reductions, and what ranks elements

template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
sum(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
mean(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
max(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
min(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
var(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
logsumexp(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
any(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is reduced over; ids cannot be reduced"))) X
all(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is taken over; ids have no softmax"))) X
softmax(const X& x);
template <Axis... Over, AnyTensor X>
  requires(IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("the tensor must have the axes that it is taken over; ids have no log_softmax"))) X
log_softmax(const X& x);
template <IndexTensor X>
__attribute__((unavailable("ids cannot be reduced: they are no numbers"))) X total(const X& x);
template <IndexTensor X>
__attribute__((unavailable("ids cannot be reduced: they are no numbers"))) X mean_all(const X& x);
template <Axis... Over, AnyTensor X>
  requires(sizeof...(Over) != 1 || IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((
    unavailable("argmax<Vocab>(x) is over one axis, which x must have; several: flatten them first"))) X
argmax(const X& x);
template <Axis... Over, AnyTensor X>
  requires(sizeof...(Over) != 1 || IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("cumsum<Pos>(x) is along one axis, which x must have"))) X cumsum(const X& x);
template <Axis Over, Axis K, AnyTensor X>
__attribute__((
    unavailable("top_k<Vocab>(x, Dim<K>{5}): x must have Vocab, and must not have K"))) detail::nothing
top_k(const X& x, Dim<K> k);
template <Axis... Over, AnyTensor X>
  requires(sizeof...(Over) != 1 || IndexTensor<X> || !HasAxes<X, Over...>)
__attribute__((unavailable("sort<Vocab>(x) is along one axis, which x must have"))) detail::nothing sort(
    const X& x, bool descending = false);

// ---- element by element

template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids are no numbers"))) X
maximum(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids are no numbers"))) X
minimum(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids are no numbers"))) X
pow(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids are no numbers"))) X
remainder(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids compare with ids"))) X
equal(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids compare with ids"))) X
not_equal(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids are no numbers"))) X
logical_and(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("the axes of one tensor must lie within the other's; ids are no numbers"))) X
logical_or(const X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("x += y: the axes of y must lie within those of x; ids are no numbers"))) X&
operator+=(X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("x -= y: the axes of y must lie within those of x; ids are no numbers"))) X&
operator-=(X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("x *= y: the axes of y must lie within those of x; ids are no numbers"))) X&
operator*=(X& x, const Y& y);
template <AnyTensor X, AnyTensor Y>
__attribute__((unavailable("x /= y: the axes of y must lie within those of x; ids are no numbers"))) X&
operator/=(X& x, const Y& y);
template <AnyTensor M, AnyTensor X, AnyTensor Y>
__attribute__((unavailable(
    "where(mask, x, y): the axes of x or y must lie within the other's, and the mask's within theirs"))) X
where(const M& mask, const X& x, const Y& y);
template <AnyTensor M, AnyTensor X>
__attribute__((unavailable("where(mask, x, number): the axes of the mask must lie within those of x"))) X
where(const M& mask, const X& x, double otherwise);

// ---- axes

template <Axis From, Axis To, AnyTensor X>
__attribute__((unavailable("rename<From, To>(x): x must have From, and must not have To"))) X
rename(const X& x);
template <class... To, AnyTensor X>
__attribute__((unavailable("rearrange names each axis of x once"))) X rearrange(const X& x);
template <AnyTensor X, class... New>
__attribute__((unavailable("x has the axis already that broadcast would add"))) X broadcast(const X& x,
                                                                                            Dim<New>... dims);
template <class From, Axis To, AnyTensor X>
__attribute__((unavailable(
    "flatten<Axes<Height, Width>, Pixel>(x): x must have the axes in Axes<...>, and must not have Pixel"))) X
flatten(const X& x);
template <Axis From, AnyTensor X, class... To>
__attribute__((unavailable(
    "unflatten<Pixel>(x, Dim<Height>{h}, Dim<Width>{w}): x must have Pixel, and must not have the others"))) X
unflatten(const X& x, Dim<To>... dims);
template <Axis Along, AnyTensor X, class... Ys>
__attribute__((
    unavailable("all must have the same axes, that one among them, and all be numbers or all ids"))) X
concatenate(const X& x, const Ys&... ys);
template <Axis Along, AnyTensor X, class... Ys>
__attribute__((
    unavailable("all must have the same axes without the new one, and all be numbers or all ids"))) X
stack(const X& x, const Ys&... ys);
template <Axis Along, AnyTensor X>
__attribute__((unavailable("the tensor must have the axis that it is split along"))) std::vector<X> split(
    const X& x, const std::vector<std::int64_t>& sizes);
template <Axis Along, std::size_t N, AnyTensor X>
__attribute__((unavailable("the tensor must have the axis that it is taken apart along"))) detail::nothing
unbind(const X& x);
template <Axis Along, AnyTensor X>
__attribute__((unavailable("the tensor must have the axis that it is cut along"))) X
slice(const X& x, std::int64_t start, std::int64_t length);
template <Axis Along, AnyTensor X>
__attribute__((unavailable("the tensor must have the axis that it is cut along"))) X
slice(const X& x, const Indices<>& start, std::int64_t length);

// ---- by index

template <Axis Along, AnyTensor X>
__attribute__((unavailable("x must be numbers and have the axis that the element is taken along"))) X
take(const X& x, std::int64_t index);
template <Axis Along, AnyTensor X, AnyTensor I>
__attribute__((
    unavailable("take<Vocab>(x, ids): x must be numbers with the axis Vocab, which the ids must lack"))) X
take(const X& x, const I& ids);
template <Axis Along, NamedTensor X, NamedTensor I>
__attribute__((unavailable("what is looked up must be ids: Indices, not numbers"))) X take(const X& x,
                                                                                           const I& ids);
template <Axis Along, AnyTensor X, AnyTensor I, AnyTensor U>
__attribute__((
    unavailable("scatter_add<Vocab>(x, ids, updates): x must have Vocab, and updates the axes of the ids"))) X
scatter_add(const X& x, const I& indices, const U& updates);
template <AnyTensor I, Axis New>
__attribute__((unavailable("one_hot(ids, Dim<Vocab>{n}): ids are Indices, and must not have Vocab yet"))) I
one_hot(const I& indices, Dim<New> dim);

// ---- products and losses

template <Axis... Over, AnyTensor X, AnyTensor Y>
  requires(IndexTensor<X> || IndexTensor<Y>)
__attribute__((
    unavailable("ids are no numbers to multiply with: one_hot(ids, Dim<Vocab>{n}), or embedding(ids)"))) X
dot(const X& x, const Y& y);
template <Axis Vocab, NamedTensor X, IndexTensor T>
  requires HasAxes<X, Vocab>
__attribute__((
    unavailable("the targets must have all axes of the logits but the one named, and no others"))) X
cross_entropy(const X& logits, const T& targets);
template <Axis Vocab, NamedTensor X, IndexTensor T>
__attribute__((unavailable("the logits must have the axis Vocab: cross_entropy<Vocab>(logits, targets)"))) X
cross_entropy(const X& logits, const T& targets);
template <Axis Vocab, NamedTensor X, NamedTensor T>
__attribute__((unavailable("the targets must be ids: Indices, not numbers"))) X
cross_entropy(const X& logits, const T& targets);
template <Axis Vocab, IndexTensor X, AnyTensor T>
__attribute__((
    unavailable("the logits come first, then the targets: cross_entropy<Vocab>(logits, targets)"))) X
cross_entropy(const X& logits, const T& targets);
template <AnyTensor X, AnyTensor T>
__attribute__((unavailable("say which axis the classes are: cross_entropy<Vocab>(logits, targets)"))) X
cross_entropy(const X& logits, const T& targets);

}  // namespace bora
