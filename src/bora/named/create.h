// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Making named tensors. Included by ops.h.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "bora/base/key.h"
#include "bora/core/create.h"
#include "bora/named/named.h"

namespace bora {

/// Names and sizes of a list of Dims, for the dynamic layer.
template <Axis... As>
struct ShapeOf {
  std::array<std::int64_t, sizeof...(As)> sizes;
  explicit ShapeOf(Dim<As>... dims) : sizes{dims.size...} {}
  operator core::Shape() const { return {Axes<As...>::names, sizes}; }  // NOLINT(google-explicit-constructor)
};

template <Axis... As>
Named<As...> zeros(Dim<As>... dims) {
  return Named<As...>::adopt(core::zeros(ShapeOf<As...>(dims...)));
}
template <Axis... As>
Named<As...> ones(Dim<As>... dims) {
  return Named<As...>::adopt(core::ones(ShapeOf<As...>(dims...)));
}
template <Axis... As>
Named<As...> full(double value, Dim<As>... dims) {
  return Named<As...>::adopt(core::full(ShapeOf<As...>(dims...), value));
}
/// 0, 1, 2, ... as numbers (fp32).
template <Axis A>
Named<A> arange(Dim<A> dim, double start = 0, double step = 1) {
  return Named<A>::adopt(core::arange(ShapeOf<A>(dim), start, step, core::DType::f32));
}
/// Copies row-major elements; the element type is that of the vector.
template <Axis... As, class T>
Named<As...> from_vector(const std::vector<T>& elements, Dim<As>... dims) {
  return Named<As...>::adopt(core::from_data(ShapeOf<As...>(dims...), std::span<const T>(elements)));
}
/// The same for elements written out, as f32: from_vector({1, 2, 3}, Dim<Embed>{3}).
template <Axis... As>
Named<As...> from_vector(std::initializer_list<double> elements, Dim<As>... dims) {
  return from_vector(std::vector<float>(elements.begin(), elements.end()), dims...);
}
/// Elements i32 or i64, as those of the vector.
template <Axis... As, class T>
Indices<As...> indices_from_vector(const std::vector<T>& elements, Dim<As>... dims) {
  return indices_from_array<As...>(core::from_data(ShapeOf<As...>(dims...), std::span<const T>(elements)));
}
/// The same for elements written out, as i64.
template <Axis... As>
Indices<As...> indices_from_vector(std::initializer_list<std::int64_t> elements, Dim<As>... dims) {
  return indices_from_vector(std::vector<std::int64_t>(elements), dims...);
}
template <Axis... As>
Named<As...> random_uniform(Key key, double low, double high, Dim<As>... dims) {
  return Named<As...>::adopt(core::random_uniform(key, ShapeOf<As...>(dims...), low, high));
}
template <Axis... As>
Named<As...> random_normal(Key key, double mean, double std, Dim<As>... dims) {
  return Named<As...>::adopt(core::random_normal(key, ShapeOf<As...>(dims...), mean, std));
}
template <Axis... As>
Named<As...> random_truncated_normal(Key key, double low, double high, double scale, Dim<As>... dims) {
  return Named<As...>::adopt(core::random_truncated_normal(key, ShapeOf<As...>(dims...), low, high, scale));
}

}  // namespace bora
