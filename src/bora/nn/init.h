// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Making parameters.
#pragma once
#include <algorithm>
#include <array>

#include "bora/named/fields.h"
#include "bora/named/ops.h"

namespace bora::nn {

/// Sizes of a list of axes, from Dims: SizesOf<Axes<Embed>>{Dim<Embed>{512}}.
template <class List>
struct SizesOf;
template <Axis... As>
struct SizesOf<Axes<As...>> {
  std::array<std::int64_t, sizeof...(As)> sizes{};
  SizesOf() = default;
  SizesOf(Dim<As>... dims)  // NOLINT(google-explicit-constructor): a Dim names its axis
      requires(sizeof...(As) > 0)
      : sizes{dims.size...} {}
  core::Shape shape() const { return {Axes<As...>::names, sizes}; }
};

template <Axis... As, Axis... Bs>
SizesOf<Axes<As..., Bs...>> join_sizes(const SizesOf<Axes<As...>>& a, const SizesOf<Axes<Bs...>>& b) {
  SizesOf<Axes<As..., Bs...>> out;
  std::copy(b.sizes.begin(), b.sizes.end(), std::copy(a.sizes.begin(), a.sizes.end(), out.sizes.begin()));
  return out;
}

template <Axis... As>
Named<As...> normal_parameter(Key key, double std, const SizesOf<Axes<As...>>& sizes) {
  return Named<As...>::adopt(core::random_normal(key, sizes.shape(), 0, std));
}
template <Axis... As>
Named<As...> zeros_parameter(const SizesOf<Axes<As...>>& sizes) {
  return Named<As...>::adopt(core::zeros(sizes.shape()));
}
template <Axis... As>
Named<As...> ones_parameter(const SizesOf<Axes<As...>>& sizes) {
  return Named<As...>::adopt(core::ones(sizes.shape()));
}

/// Every parameter of a model in another dtype. Recorded: gradients reach the original in its own dtype.
template <Module M>
M cast_parameters(const M& model, core::DType dtype) {
  M out = model;
  for (auto& p : parameters(out)) {
    if (p.array->dtype() != dtype) *p.array = core::cast({*p.array, p.names}, dtype);
  }
  return out;
}

}  // namespace bora::nn
