// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Comparisons, which give masks: tensors of booleans, for where, mean, sum and logical ops. Included by
// ops.h.
#pragma once
#include <concepts>
#include <cstdint>
#include <span>

#include "bora/core/create.h"
#include "bora/core/elementwise.h"
#include "bora/named/elementwise.h"

namespace bora {

namespace detail {
// argmax gives i64, batches hold i32: ids of both widths may meet.
template <IndexTensor I, IndexTensor J>
auto compare_ids(core::Binary op, const I& x, const J& y) {
  using Out = joined<axes_of<I>, axes_of<J>>;
  const core::Array a = core::cast(x.operand(), core::DType::i64),
                    b = core::cast(y.operand(), core::DType::i64);
  return named_over<Out>::adopt(core::binary(op, {a, axes_of<I>::names}, {b, axes_of<J>::names}, Out::names));
}
inline Indices<> one_id(std::int64_t id) {
  return Indices<>::adopt(core::from_data({Axes<>::names, {}}, std::span<const std::int64_t>(&id, 1)));
}
}  // namespace detail

template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator<(const X& x, const Y& y) {
  return detail::binary(core::Binary::less, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator<=(const X& x, const Y& y) {
  return detail::binary(core::Binary::less_equal, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator>(const X& x, const Y& y) {
  return detail::binary(core::Binary::greater, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto operator>=(const X& x, const Y& y) {
  return detail::binary(core::Binary::greater_equal, x, y);
}
template <NamedTensor X>
X operator<(const X& x, double y) {
  return detail::binary(core::Binary::less, x, y);
}
template <NamedTensor X>
X operator<=(const X& x, double y) {
  return detail::binary(core::Binary::less_equal, x, y);
}
template <NamedTensor X>
X operator>(const X& x, double y) {
  return detail::binary(core::Binary::greater, x, y);
}
template <NamedTensor X>
X operator>=(const X& x, double y) {
  return detail::binary(core::Binary::greater_equal, x, y);
}
template <NamedTensor X>
X operator<(double x, const X& y) {
  return detail::binary(core::Binary::less, x, y);
}
template <NamedTensor X>
X operator<=(double x, const X& y) {
  return detail::binary(core::Binary::less_equal, x, y);
}
template <NamedTensor X>
X operator>(double x, const X& y) {
  return detail::binary(core::Binary::greater, x, y);
}
template <NamedTensor X>
X operator>=(double x, const X& y) {
  return detail::binary(core::Binary::greater_equal, x, y);
}

// Not operators: x == y would read as one truth for two tensors.
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto equal(const X& x, const Y& y) {
  return detail::binary(core::Binary::equal, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto not_equal(const X& x, const Y& y) {
  return detail::binary(core::Binary::not_equal, x, y);
}
template <NamedTensor X>
X equal(const X& x, double y) {
  return detail::binary(core::Binary::equal, x, y);
}
template <NamedTensor X>
X not_equal(const X& x, double y) {
  return detail::binary(core::Binary::not_equal, x, y);
}

// Ids can be compared for being the same, with each other and with one id: equal(argmax<Vocab>(logits),
// targets).
template <IndexTensor I, IndexTensor J>
  requires Broadcastable<I, J>
auto equal(const I& x, const J& y) {
  return detail::compare_ids(core::Binary::equal, x, y);
}
template <IndexTensor I, std::integral Id>
auto equal(const I& x, Id id) {
  return equal(x, detail::one_id(id));
}
template <IndexTensor I, IndexTensor J>
  requires Broadcastable<I, J>
auto not_equal(const I& x, const J& y) {
  return detail::compare_ids(core::Binary::not_equal, x, y);
}
template <IndexTensor I, std::integral Id>
auto not_equal(const I& x, Id id) {
  return not_equal(x, detail::one_id(id));
}

template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto logical_and(const X& x, const Y& y) {
  return detail::binary(core::Binary::logical_and, x, y);
}
template <NamedTensor X, NamedTensor Y>
  requires Broadcastable<X, Y>
auto logical_or(const X& x, const Y& y) {
  return detail::binary(core::Binary::logical_or, x, y);
}
template <NamedTensor X>
X logical_not(const X& x) {
  return detail::unary(core::Unary::logical_not, x);
}

}  // namespace bora
