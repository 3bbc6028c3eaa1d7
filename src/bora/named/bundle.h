// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What layers pass on: one tensor, or a struct of tensors.
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/base/error.h"
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

struct any_member {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, std::size_t... Is>
consteval bool takes_members(std::index_sequence<Is...>) {
  return requires { T{((void)Is, any_member{})...}; };
}
// The longest brace list that an aggregate takes is its number of members.
template <class T, std::size_t N = 9>
consteval std::size_t bundle_size() {
  if constexpr (N == 0 || takes_members<T>(std::make_index_sequence<N>{}))
    return N;
  else
    return bundle_size<T, N - 1>();
}

template <class T, class Visit>
void each_member(T& bundle, Visit&& visit) {
  constexpr auto n = bundle_size<std::remove_const_t<T>>();
  static_assert(n >= 1 && n <= 8, "a struct that layers pass on has one to eight members");
  const auto all = [&visit](auto&... members) { (visit(members), ...); };
  if constexpr (n == 1) {
    auto& [a] = bundle;
    all(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = bundle;
    all(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = bundle;
    all(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = bundle;
    all(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = bundle;
    all(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = bundle;
    all(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = bundle;
    all(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = bundle;
    all(a, b, c, d, e, f, g, h);
  }
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
