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
#include "bora/named/bundle.h"
#include "bora/named/fields.h"
#include "bora/named/named.h"

namespace bora {

namespace detail {
struct value_and_grad_needs_a_model_that_is_not_const;  // a sentence for the compiler to say
template <class F, class M>
using loss_of = decltype(std::declval<F&>()(std::declval<M&>()));
}  // namespace detail

/// The value of a scalar function of a model, and its gradient: a model of the same type that holds the
/// gradients.
template <class M>
struct ValueAndGrad {
  Named<> value;
  M gradients;
};

/// `f` takes the model and returns Named<>. Frozen parameters (core::set_trainable) have no gradient: theirs
/// is empty. InvalidArgument where the loss depends on no parameter that is trained: it was computed from a
/// copy, or from a model that was cast before.
template <Module M, class F, class Loss = detail::loss_of<F, M>>
ValueAndGrad<M> value_and_grad(M& model, F&& f)
#if defined(__clang__)  // each compiler's way to point at the caller's line
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
    __attribute__((diagnose_if(std::is_const_v<M>, "value_and_grad needs a model that is not const",
                               "error")));
#pragma clang diagnostic pop
#else
    ;
template <Module M, class F>
detail::value_and_grad_needs_a_model_that_is_not_const value_and_grad(const M& model, F&& f) = delete;
#endif
template <Module M, class F, class Loss>
ValueAndGrad<M> value_and_grad(M& model, F&& f) {
  static_assert(std::is_copy_constructible_v<M>,
                "value_and_grad returns gradients as a copy of the model: no unique_ptr among its members");
  const auto trained = core::trainable_parameters(parameters(model));
  std::vector<core::Array*> arrays;
  for (const auto& p : trained) arrays.push_back(p.array);
  auto result = core::value_and_grad(arrays, [&] { return Named<>(f(model)).array(); });
  if (!result.depends) core::fail_no_gradient(trained.size(), detail::type_name<M>());
  ValueAndGrad<M> out{Named<>::adopt(std::move(result.value)), model};
  std::size_t next = 0;
  for (auto& p : parameters(out.gradients))
    *p.array = p.trainable ? std::move(result.gradients[next++]) : core::Array();
  return out;
}

namespace detail {
template <class F>
inline constexpr bool holds_references = !std::is_standard_layout_v<F> && std::is_trivially_copyable_v<F>;
}  // namespace detail

// Both compilers show what Loss is.
template <class Loss>
concept NoScalar = !std::convertible_to<Loss, Named<>>;
template <Module M, class F, class Loss = detail::loss_of<F, M>>
  requires NoScalar<Loss>
__attribute__((unavailable("the loss must be Named<>: take mean_all, or sum over the axes that it has"))) Loss
value_and_grad(M& model, F&& f) {
  return f(model);
}

/// A closure with references inside, as far as its type can tell: one that also holds something that must be
/// copied (a tensor, a module) looks like any other.
template <class F>
concept HoldsReferences = detail::holds_references<std::remove_cvref_t<F>>;
/// A function that can be called with X, and returns something else.
template <class F, class X>
concept ChangesType =
    std::invocable<F&, const X&> && !std::convertible_to<std::invoke_result_t<F&, const X&>, X>;
template <Bundle X, class F>
  requires HoldsReferences<F>
__attribute__((unavailable("it runs again in the backward pass, when locals are gone: capture by value"))) X
remat(F&& f, const X& x) {
  return f(x);
}

template <Bundle X, class F>
  requires(!HoldsReferences<F> && ChangesType<F, X>)
__attribute__((unavailable("what runs again must return what it is given: a tensor of the axes of x"))) X
remat(F&& f, const X& x);

/// Runs `f` on x, a tensor or a struct of tensors, without keeping its intermediate values; they are computed
/// again in the backward pass. What f makes leaves it by its result alone: an operation that uses an array
/// which f handed out otherwise (by reference) fails, because no gradient could reach it.
/// The backward pass may come after the function that called remat has returned: `f` owns what it needs, so
/// it captures by value (modules and tensors are cheap to copy).
template <Bundle X, class F>
X remat(F&& f, const X& x) {
  const auto inputs = arrays_of_bundle(x);
  return adopt_bundle<X>(core::checkpoint(
      [f = std::forward<F>(f)](std::span<const core::Array> in) {
        return arrays_of_bundle(X(f(adopt_bundle<X>(in))));
      },
      inputs));
}
/// The same, with x resting in memory of the host meanwhile.
template <Bundle X, class F>
X remat(F&& f, const X& x, core::Offload& rest) {
  const auto inputs = arrays_of_bundle(x);
  return adopt_bundle<X>(core::checkpoint(
      [f = std::forward<F>(f)](std::span<const core::Array> in) {
        return arrays_of_bundle(X(f(adopt_bundle<X>(in))));
      },
      inputs, rest));
}

}  // namespace bora
