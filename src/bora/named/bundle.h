// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What layers pass on: one tensor, or a struct of tensors.
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "bora/base/error.h"
#include "bora/named/aggregate.h"
#include "bora/named/named.h"

namespace bora {

/// A Named, Indices, or a plain struct (an aggregate, at most eight members) of such and of such structs:
///
///     struct Flow {
///       Hidden x;          // first what probes look at
///       Named<> balance;   // an auxiliary loss that grows from layer to layer
///     };
///
/// All of its tensors have values: zeros() stands for nothing so far.
template <class T>
concept Bundle = AnyTensor<T> || (std::is_class_v<T> && std::is_aggregate_v<T>);

namespace detail {

template <class T, class Visit>
void each_member(T& bundle, Visit&& visit) {
  constexpr auto n = member_count<std::remove_const_t<T>, 9>();
  static_assert(n >= 1 && n <= 8, "a struct that layers pass on has one to eight members");
  with_members<n>(bundle, [&visit](auto&... members) { (visit(members), ...); });
}

template <class T, class Visit>
void each_tensor(T& x, Visit&& visit) {
  if constexpr (AnyTensor<T>) {
    visit(x);
  } else {
    static_assert(Bundle<std::remove_const_t<T>>,
                  "a struct that layers pass on holds Named, Indices and structs of these alone");
    each_member(x, [&visit](auto& member) { each_tensor(member, visit); });
  }
}

}  // namespace detail

/// The arrays of a bundle, in order. InvalidArgument for a tensor that was never given a value.
template <Bundle T>
std::vector<core::Array> arrays_of_bundle(const T& bundle) {
  std::vector<core::Array> out;
  detail::each_tensor(bundle, [&out](const auto& x) {
    if (x.empty()) {
      fail(ErrorKind::InvalidArgument,
           "layers: tensor {} of what they pass on, {}, is empty\nhint: zeros() stands for nothing so far",
           out.size(), core::describe(std::remove_cvref_t<decltype(x)>::axes::names));
    }
    out.push_back(x.array());
  });
  return out;
}

/// That of its first tensor.
template <Bundle T>
core::Array first_array(const T& bundle) {
  if constexpr (AnyTensor<T>)
    return bundle.array();
  else
    return arrays_of_bundle(bundle).front();
}

/// The bundle whose arrays these are. For ops only, as Named::adopt.
template <Bundle T>
T adopt_bundle(std::span<const core::Array> arrays) {
  T out{};
  std::size_t i = 0;
  detail::each_tensor(out, [&](auto& x) { x = std::remove_reference_t<decltype(x)>::adopt(arrays[i++]); });
  return out;
}

}  // namespace bora
