// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Making parameters.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "bora/core/mapping.h"
#include "bora/core/parameter_store.h"
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

namespace detail {
core::Array placed(core::Array parameter, core::Names axes);
core::Array normal(Key key, double std, const core::Shape& shape);
}  // namespace detail

/// Cuts a new parameter down to this worker's shard, and hands it to the store that keeps this thread's, if
/// there is one.
template <Axis... As>
Named<As...> new_parameter(core::Array values) {
  return Named<As...>::adopt(detail::placed(std::move(values), Axes<As...>::names));
}

template <Axis... As>
Named<As...> normal_parameter(Key key, double std, const SizesOf<Axes<As...>>& sizes) {
  return Named<As...>::adopt(detail::normal(key, std, sizes.shape()));
}
template <Axis... As>
Named<As...> filled_parameter(const SizesOf<Axes<As...>>& sizes, double value) {
  return new_parameter<As...>(core::full(sizes.shape(), value));
}
template <Axis... As>
Named<As...> zeros_parameter(const SizesOf<Axes<As...>>& sizes) {
  return new_parameter<As...>(core::zeros(sizes.shape()));
}
template <Axis... As>
Named<As...> ones_parameter(const SizesOf<Axes<As...>>& sizes) {
  return new_parameter<As...>(core::ones(sizes.shape()));
}

/// The arrays of a list of parameters.
inline std::vector<core::Array> arrays_of(const std::vector<core::Parameter>& parameters) {
  std::vector<core::Array> out;
  for (const auto& p : parameters) out.push_back(*p.array);
  return out;
}

/// A module's parameters in another dtype, but not those of blocks in a stack, which do it themselves.
/// Recorded: gradients reach the original in its own dtype.
template <Module M>
M cast_parameters(const M& model, core::DType dtype) {
  M out = model;
  for (auto& p : parameters_outside_stacks(out)) {
    if (p.array->dtype() != dtype) *p.array = core::cast({*p.array, p.axes}, dtype);
  }
  return out;
}

}  // namespace bora::nn
