// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <functional>
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

/// Runs `f` on x without keeping its intermediate values; they are computed again in the backward pass.
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
