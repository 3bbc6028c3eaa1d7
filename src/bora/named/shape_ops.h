// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Ops over named tensors that change axes. Included by ops.h.
#pragma once
#include <array>
#include <vector>

#include "bora/base/error.h"
#include "bora/core/index.h"
#include "bora/core/shape.h"
#include "bora/core/unbind.h"
#include "bora/named/named.h"

namespace bora {

namespace detail {
// The kind of tensor that X is, ids or numbers, with the axes of List.
template <AnyTensor X, class List>
struct same_kind {
  using type = named_over<List>;
};
template <IndexTensor X, class List>
struct same_kind<X, List> {
  using type = indices_over<List>;
};
}  // namespace detail
/// Named<As...> for numbers, Indices<As...> for ids; List is Axes<As...>.
template <AnyTensor X, class List>
using kind_over = typename detail::same_kind<X, List>::type;

/// The axis From under the name To. Moves nothing.
template <Axis From, Axis To, AnyTensor X>
  requires(HasAxes<X, From> && LacksAxes<X, To>)
auto rename(const X& x) {
  using Out = renamed<axes_of<X>, From, To>;
  return kind_over<X, Out>::adopt(x.array());
}

/// The same axes in this order.
template <Axis... To, AnyTensor X>
  requires same_axes<Axes<To...>, axes_of<X>>
kind_over<X, Axes<To...>> rearrange(const X& x) {
  return x;
}

/// Adds axes, repeating x along them; they come first.
template <AnyTensor X, Axis... New>
  requires LacksAxes<X, New...>
auto broadcast(const X& x, Dim<New>... dims) {
  using Out = concat<Axes<New...>, axes_of<X>>;
  std::vector<std::int64_t> sizes{dims.size...};
  for (std::size_t i = 0; i < axes_of<X>::rank; ++i)
    sizes.push_back(core::whole_size(x.array(), static_cast<int>(i)));
  return kind_over<X, Out>::adopt(core::broadcast(x.operand(), {Out::names, sizes}));
}

/// Several axes into one: flatten<Axes<Height, Width>, Pixel>(x); the last named varies fastest, and Pixel
/// stands where the first named stood.
template <class From, Axis To, AnyTensor X>
  requires(From::rank > 0 && subset<From, axes_of<X>> && LacksAxes<X, To>)
auto flatten(const X& x) {
  using Out = replaced<axes_of<X>, From, Axes<To>>;
  return kind_over<X, Out>::adopt(core::flatten(x.operand(), From::names, To::name));
}
/// One axis into several: unflatten<Pixel>(x, Dim<Height>{32}, Dim<Width>{32}).
template <Axis From, AnyTensor X, Axis... To>
  requires(HasAxes<X, From> && LacksAxes<X, To...>)
auto unflatten(const X& x, Dim<To>... dims) {
  using Out = replaced<axes_of<X>, Axes<From>, Axes<To...>>;
  std::array<std::int64_t, sizeof...(To)> sizes{dims.size...};
  return kind_over<X, Out>::adopt(core::unflatten(x.operand(), From::name, {Axes<To...>::names, sizes}));
}

/// The same axes, and both numbers or both ids.
template <class X, class Y>
concept Joinable = SameAxes<X, Y> && std::is_same_v<kind_over<X, Axes<>>, kind_over<Y, Axes<>>>;

/// Along an axis that all have; their other axes and sizes agree.
template <Axis Along, AnyTensor X, AnyTensor... Ys>
  requires(HasAxes<X, Along> && (Joinable<X, Ys> && ...))
X concatenate(const X& x, const Ys&... ys) {
  std::array<core::Operand, 1 + sizeof...(Ys)> all{x.operand(), ys.operand()...};
  return X::adopt(core::concatenate(all, Along::name));
}
/// Along a new axis, which comes first.
template <Axis Along, AnyTensor X, AnyTensor... Ys>
  requires(LacksAxes<X, Along> && (Joinable<X, Ys> && ...))
auto stack(const X& x, const Ys&... ys) {
  std::array<core::Operand, 1 + sizeof...(Ys)> all{x.operand(), ys.operand()...};
  return kind_over<X, concat<Axes<Along>, axes_of<X>>>::adopt(core::stack(all, Along::name));
}
/// Pieces along an axis; their sizes add up to its size.
template <Axis Along, AnyTensor X>
  requires HasAxes<X, Along>
std::vector<X> split(const X& x, const std::vector<std::int64_t>& sizes) {
  std::vector<X> out;
  for (auto& piece : core::split(x.operand(), Along::name, sizes)) out.push_back(X::adopt(std::move(piece)));
  return out;
}
/// Every element along an axis, which disappears: unbind<Qkv, 3>(x).
template <Axis Along, std::size_t N, AnyTensor X>
  requires HasAxes<X, Along>
auto unbind(const X& x) {
  using Piece = kind_over<X, without<axes_of<X>, Axes<Along>>>;
  auto pieces = core::unbind(x.operand(), Along::name);
  if (pieces.size() != N) {
    fail(ErrorKind::InvalidArgument, "unbind: {} pieces along {} were asked for but there are {}", N,
         Along::name, pieces.size());
  }
  std::array<Piece, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = Piece::adopt(std::move(pieces[i]));
  return out;
}
/// Elements [start, start + length) along an axis.
template <Axis Along, AnyTensor X>
  requires HasAxes<X, Along>
X slice(const X& x, std::int64_t start, std::int64_t length) {
  return X::adopt(core::slice(x.operand(), Along::name, start, length));
}
/// The same from a start that is itself computed.
template <Axis Along, AnyTensor X>
  requires HasAxes<X, Along>
X slice(const X& x, const Indices<>& start, std::int64_t length) {
  return X::adopt(core::dynamic_slice(x.operand(), Along::name, start.array(), length));
}
/// One element along an axis, which disappears.
template <Axis Along, NamedTensor X>
  requires HasAxes<X, Along>
auto take(const X& x, std::int64_t index) {
  using Out = without<axes_of<X>, Axes<Along>>;
  auto one = core::full({Axes<>::names, {}}, static_cast<double>(index), core::DType::i64);
  return named_over<Out>::adopt(core::take(x.operand(), Along::name, {one, Axes<>::names}, Out::names));
}
/// Elements at indices along an axis: the indices' axes take its place; axes that both have are matched.
template <Axis Along, NamedTensor X, IndexTensor I>
  requires(HasAxes<X, Along> && LacksAxes<I, Along>)
auto take(const X& x, const I& indices) {
  using Out = joined<replaced<axes_of<X>, Axes<Along>, without<axes_of<I>, axes_of<X>>>, axes_of<I>>;
  return named_over<Out>::adopt(core::take(x.operand(), Along::name, indices.operand(), Out::names));
}
/// x with updates added at indices along an axis; duplicates add up in index order.
template <Axis Along, NamedTensor X, IndexTensor I, NamedTensor U>
  requires(HasAxes<X, Along> && subset<axes_of<I>, axes_of<U>>)
X scatter_add(const X& x, const I& indices, const U& updates) {
  return X::adopt(core::scatter_add(x.operand(), Along::name, indices.operand(), updates.operand()));
}
/// 1 at the index, else 0, along a new last axis.
template <IndexTensor I, Axis New>
  requires LacksAxes<I, New>
auto one_hot(const I& indices, Dim<New> dim) {
  return named_over<concat<axes_of<I>, Axes<New>>>::adopt(
      core::one_hot(indices.operand(), New::name, dim.size));
}

}  // namespace bora
