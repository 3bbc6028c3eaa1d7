// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Ops over named tensors. Each is a signature checked by the compiler around one dynamic call.
#pragma once
#include "bora/core/contract.h"
#include "bora/core/cross_entropy.h"
#include "bora/named/compare.h"      // IWYU pragma: export
#include "bora/named/create.h"       // IWYU pragma: export
#include "bora/named/elementwise.h"  // IWYU pragma: export
#include "bora/named/named.h"
#include "bora/named/reduce.h"     // IWYU pragma: export
#include "bora/named/refusals.h"   // IWYU pragma: export
#include "bora/named/shape_ops.h"  // IWYU pragma: export

namespace bora {

/// Contracts over the named axes; other shared axes batch; the rest are kept. Order: the left operand's axes,
/// then the right's new ones.
template <Axis... Over, NamedTensor X, NamedTensor Y>
  requires(sizeof...(Over) > 0 && HasAxes<X, Over...> && HasAxes<Y, Over...>)
auto dot(const X& x, const Y& y) {
  using Out = without<joined<axes_of<X>, axes_of<Y>>, Axes<Over...>>;
  return named_over<Out>::adopt(core::dot(x.operand(), y.operand(), Out::names));
}

/// -log softmax(logits)[target] over Vocab, for each target: [..., Vocab] and ids [...] of the same other
/// axes
/// -> [...]. Unweighted; take mean_all of it. Where logits need not exist, models use
/// core::linear_cross_entropy.
template <Axis Vocab, NamedTensor X, IndexTensor T>
  requires(HasAxes<X, Vocab> && same_axes<without<axes_of<X>, Axes<Vocab>>, axes_of<T>>)
auto cross_entropy(const X& logits, const T& targets) {
  using Out = without<axes_of<X>, Axes<Vocab>>;
  const indices_over<Out> in_order = targets;
  return named_over<Out>::adopt(core::cross_entropy(logits.operand(), Vocab::name, in_order.operand()));
}

}  // namespace bora
