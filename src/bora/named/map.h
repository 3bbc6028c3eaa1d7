// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Functions over the parameters of one or several models of the same type: optimizers in a line.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bora/base/error.h"
#include "bora/named/fields.h"

namespace bora {

namespace detail {

// Visits the parameters of a model in the order of bora::parameters(), with their types; the i-th of each
// other model goes with the i-th here.
template <class F, std::size_t N>
struct MapWalk {
  F& f;
  const std::array<std::vector<core::Array>, N>& others;
  std::size_t at = 0;

  template <Axis... As>
  void operator()(std::string_view, Named<As...>& parameter) {
    if (parameter.empty()) return;
    parameter = beside(parameter, std::make_index_sequence<N>());
    ++at;
  }
  template <Axis... As, std::size_t... Is>
  Named<As...> beside(const Named<As...>& parameter, std::index_sequence<Is...>) {
    const std::array<Named<As...>, N> same{Named<As...>::adopt(others[Is].at(at))...};
    return f(parameter, same[Is]...);
  }
  template <class T>
  void operator()(std::string_view name, T& member) {
    if constexpr (Module<T>)
      T::fields::each(member, *this);
    else if constexpr (is_variant<T>)
      std::visit([&](auto& choice) { (*this)(name, choice); }, member);
    else if constexpr (requires {
                         *member;
                         member.reset();
                       }) {  // optional, unique_ptr
      if (member) (*this)(name, *member);
    } else if constexpr (requires { member.begin()->second; }) {
      for (auto& [key, value] : member) (*this)(name, value);
    } else if constexpr (requires { member.begin(); }) {
      if constexpr (std::is_class_v<std::remove_reference_t<decltype(*member.begin())>>)
        for (auto& element : member) (*this)(name, element);
    }
  }
};

// Whether f makes of each parameter within T, beside those of N other models, a tensor of the same axes. `Around` are the
// modules that T is a member of.
template <class T, class F, std::size_t N, class... Around>
consteval bool keeps_axes();

template <class T>
struct KeptAxes {
  template <class F, std::size_t N, class... Around>
  static consteval bool by() {
    return true;
  }
};
template <Axis... As>
struct KeptAxes<Named<As...>> {
  template <class F, std::size_t N, class... Around>
  static consteval bool by() {
    return []<std::size_t... Is>(std::index_sequence<Is...>) {
      return requires(F& f, const Named<As...>& p) {
        { f(p, ((void)Is, p)...) } -> std::convertible_to<Named<As...>>;
      };
    }(std::make_index_sequence<N>());
  }
};
template <template <class...> class Any, class... Ts>
struct KeptAxes<Any<Ts...>> {
  template <class F, std::size_t N, class... Around>
  static consteval bool by() {
    return (keeps_axes<Ts, F, N, Around...>() && ...);
  }
};
template <class T, std::size_t N>
struct KeptAxes<std::array<T, N>> : KeptAxes<std::vector<T>> {};
template <Field... Members>
struct KeptAxes<Fields<Members...>> {
  template <class F, std::size_t N, class... Around>
  static consteval bool by() {
    return ((Members.is_buffer || keeps_axes<typename decltype(Members)::type, F, N, Around...>()) && ...);
  }
};

template <class T, class F, std::size_t N, class... Around>
consteval bool keeps_axes() {
  if constexpr ((std::is_same_v<T, Around> || ...))
    return true;
  else if constexpr (Module<T>)
    return KeptAxes<typename T::fields>::template by<F, N, T, Around...>();
  else
    return KeptAxes<T>::template by<F, N, Around...>();
}

template <Module M, class F, class... Ms>
M map_parameters(F& f, const M& first, const Ms&... others) {
  M out = first;
  const auto places = parameters(out);
  [[maybe_unused]] const auto arrays_of = [&](M other) {
    const auto found = parameters(other);
    std::vector<core::Array> arrays;
    for (std::size_t i = 0; i < std::max(found.size(), places.size()); ++i) {
      const std::string_view here = i < places.size() ? std::string_view(places[i].path) : "nothing";
      const std::string_view there = i < found.size() ? std::string_view(found[i].path) : "nothing";
      if (here != there) {
        fail(ErrorKind::InvalidArgument,
             "map_parameters: where one model has the parameter {}, the other has {}\nhint: both must be "
             "made alike",
             here, there);
      }
      arrays.push_back(*found[i].array);
    }
    return arrays;
  };
  const std::array<std::vector<core::Array>, sizeof...(Ms)> arrays{arrays_of(others)...};
  MapWalk<F, sizeof...(Ms)> walk{f, arrays};
  M::fields::each(out, walk);
  if (walk.at != places.size()) {
    fail(ErrorKind::InvalidArgument, "map_parameters: reached {} of {} parameters", walk.at, places.size());
  }
  return out;
}

}  // namespace detail

/// F cannot be called with each parameter of M, beside those of N other models, or returns something of other axes.
template <class F, class M, std::size_t N>
concept LosesAxes = !detail::keeps_axes<M, F, N>();

/// A model like this one whose parameters are f of these: f(parameter) returns a tensor of the same axes.
template <Module M, class F>
M map_parameters(const M& model, F&& f) {
  return detail::map_parameters(f, model);
}
/// The same over the parameters of two models side by side, which are made alike:
///
///     model = map_parameters(model, gradients, [](const auto& p, const auto& g) { return p - 0.1 * g; });
template <Module M, class F>
M map_parameters(const M& a, const M& b, F&& f) {
  return detail::map_parameters(f, a, b);
}
/// And of three: f(p, mean, square).
template <Module M, class F>
M map_parameters(const M& a, const M& b, const M& c, F&& f) {
  return detail::map_parameters(f, a, b, c);
}

template <Module M, class F>
  requires LosesAxes<F, M, 0>
__attribute__((unavailable("f(parameter) must return a tensor of the axes of the parameter"))) M
map_parameters(const M& model, F&& f);
template <Module M, class F>
  requires LosesAxes<F, M, 1>
__attribute__((unavailable("f(parameter, other) must return a tensor of the axes of the parameter"))) M
map_parameters(const M& a, const M& b, F&& f);
template <Module M, class F>
  requires LosesAxes<F, M, 2>
__attribute__((
    unavailable("f(parameter, second, third) must return a tensor of the axes of the parameter"))) M
map_parameters(const M& a, const M& b, const M& c, F&& f);

}  // namespace bora
