// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/core/checkpoint.h"
#include "bora/core/grad.h"
#include "bora/named/fields.h"
#include "bora/named/named.h"

namespace bora {

/// The value of a scalar function of a model, and its gradient: a model of the same type that holds the
/// gradients.
template <class M>
struct ValueAndGrad {
  Named<> value;
  M gradients;
};

/// `f` takes the model and returns Named<>.
template <Module M, class F>
ValueAndGrad<M> value_and_grad(M& model, F&& f) {
  std::vector<core::Array*> arrays;
  for (auto& p : parameters(model)) arrays.push_back(p.array);
  auto result = core::value_and_grad(arrays, [&] { return Named<>(f(model)).array(); });
  ValueAndGrad<M> out{Named<>::adopt(std::move(result.value)), model};
  auto places = parameters(out.gradients);
  for (std::size_t i = 0; i < places.size(); ++i) *places[i].array = std::move(result.gradients[i]);
  return out;
}

namespace detail {
template <class F, class M>
using loss_of = decltype(std::declval<F&>()(std::declval<M&>()));
template <class F>
inline constexpr bool holds_references = !std::is_standard_layout_v<F> && std::is_trivially_copyable_v<F>;
}  // namespace detail

template <class F, class M>
concept GivesNoScalar = !std::convertible_to<detail::loss_of<F, M>, Named<>>;
template <Module M, class F>
requires GivesNoScalar<F, M>
__attribute__((unavailable("the loss must be Named<>: take mean_all, or sum over the axes that it has")))
detail::loss_of<F, M>
value_and_grad(M& model, F&& f) {
  return f(model);
}

/// A closure with references inside, as far as its type can tell: one that also holds something that must be
/// copied (a tensor, a module) looks like any other.
template <class F>
concept HoldsReferences = detail::holds_references<std::remove_cvref_t<F>>;
template <NamedTensor X, class F>
requires HoldsReferences<F>
__attribute__((unavailable("it runs again in the backward pass, when locals are gone: capture by value"))) X
remat(F&& f, const X& x) {
  return f(x);
}

/// Runs `f` on x without keeping its intermediate values; they are computed again in the backward pass.
/// That may come after the function that called remat has returned: `f` owns what it needs, so it captures by
/// value (modules and tensors are cheap to copy).
template <NamedTensor X, class F>
X remat(F&& f, const X& x) {
  core::Array input = x.array();
  auto outputs = core::checkpoint(
      [f = std::forward<F>(f)](std::span<const core::Array> in) {
        return std::vector<core::Array>{X(f(X::adopt(in[0]))).array()};
      },
      std::span<const core::Array>(&input, 1));
  return X::adopt(std::move(outputs[0]));
}

}  // namespace bora
