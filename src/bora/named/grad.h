// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "bora/core/checkpoint.h"
#include "bora/core/grad.h"
#include "bora/named/bundle.h"
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

/// Runs `f` on x, a tensor or a struct of tensors, without keeping its intermediate values; they are computed
/// again in the backward pass. What f makes leaves it by its result alone: an operation that uses an array
/// which f handed out otherwise (by reference) fails, because no gradient could reach it.
template <Bundle X, class F>
X remat(F&& f, const X& x) {
  const auto inputs = arrays_of_bundle(x);
  return adopt_bundle<X>(core::checkpoint(
      [f = std::forward<F>(f)](std::span<const core::Array> in) {
        return arrays_of_bundle(X(f(adopt_bundle<X>(in))));
      },
      inputs));
}

}  // namespace bora
