// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What the compiler can tell of a struct's members: names, number, and whether
// they hold parameters.
#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bora/named/aggregate.h"
#include "bora/named/named.h"

namespace bora {

/// A struct with a list of its fields.
template <class T>
concept Module = requires { typename std::remove_cvref_t<T>::fields; };

namespace detail {

template <auto Member>
consteval std::string_view member_name() {
  std::string_view s = __PRETTY_FUNCTION__;  // "... [with auto Member = &Attention::q_proj; ...]"
  s = s.substr(s.find("Member = ") + 9);
  s = s.substr(0, s.find_first_of(";]"));
  if (s.ends_with(')')) s.remove_suffix(1);
  return s.substr(s.rfind("::") + 2);
}

template <class T>
consteval std::string_view type_name() {
  std::string_view s = __PRETTY_FUNCTION__;  // "... [with T = llama::Llama; ...]"
  s = s.substr(s.find("T = ") + 4);
  return s.substr(0, s.find_first_of(";]"));
}

struct a_parameter {
  template <class T>
    requires(NamedTensor<T> || Module<T>)
  operator T() const;  // NOLINT(google-explicit-constructor)
};

// A longer list may be taken where a shorter one is not: a member in between has no default.
template <class T, std::size_t Listed>
inline constexpr bool takes_more = []<std::size_t... Is>(std::index_sequence<Is...>) {
  return (takes<T, Listed + 1 + Is> || ...);
}(std::make_index_sequence<16>{});

template <class M>
consteval bool lists_every_member() {
  constexpr std::size_t listed = M::fields::values;
  return std::is_aggregate_v<M> && takes<M, listed> && !takes_more<M, listed>;
}

template <class T>
inline constexpr bool complete = requires { sizeof(T); };

// Some member of the aggregate can be made from a parameter or a module.
template <class T, std::size_t... Before>
consteval bool has_parameters(std::index_sequence<Before...> /*unused*/) {
  if constexpr (requires { T{((void)Before, anything{})..., a_parameter{}}; }) return true;
  if constexpr (takes<T, sizeof...(Before) + 1>)
    return has_parameters<T>(std::make_index_sequence<sizeof...(Before) + 1>{});
  return false;
}

// Of a member's type: whether it holds parameters, whether the walk reaches them all, and whether the modules
// that it holds list their own members.
struct Held {
  bool parameters, walked, listed;
};
constexpr Held join(Held a, Held b) {
  return {a.parameters || b.parameters, a.walked && b.walked, a.listed && b.listed};
}
constexpr Held unwalked(Held a) { return {a.parameters, !a.parameters, a.listed}; }
template <class T>
consteval Held held();

template <class T>
struct HeldBy {  // a struct without `fields`, or a plain value
  static consteval Held of() {
    if constexpr (std::is_class_v<T> && complete<T> && std::is_aggregate_v<T>)
      return unwalked({has_parameters<T>(std::index_sequence<>{}), true, true});
    return {false, true, true};
  }
};
template <class T>
struct HeldBy<T*> {
  static consteval Held of() { return unwalked(held<T>()); }
};
template <class T>
struct HeldBy<const T> {
  static consteval Held of() { return unwalked(held<T>()); }
};
template <class T, std::size_t N>
struct HeldBy<T[N]> {
  static consteval Held of() { return unwalked(held<T>()); }
};
template <Axis... As>
struct HeldBy<Named<As...>> {
  static consteval Held of() { return {true, true, true}; }
};
template <template <class...> class Any, class... Ts>
struct HeldBy<Any<Ts...>> {
  static consteval Held of() {
    Held all{false, true, true};
    ((all = detail::join(all, held<Ts>())), ...);
    return unwalked(all);
  }
};
// Owners that the walk enters. A module that is not complete yet cannot be looked into.
template <class T>
consteval Held held_by_owner() {
  if constexpr (std::is_class_v<T> && !complete<T>) return {true, false, true};
  return held<T>();
}
template <class T>
struct HeldBy<std::optional<T>> {
  static consteval Held of() { return held_by_owner<T>(); }
};
template <class T>
struct HeldBy<std::unique_ptr<T>> {
  static consteval Held of() { return held_by_owner<T>(); }
};
template <class T>
struct HeldBy<std::vector<T>> {
  static consteval Held of() { return held_by_owner<T>(); }
};
template <class T, std::size_t N>
struct HeldBy<std::array<T, N>> {
  static consteval Held of() { return held_by_owner<T>(); }
};
template <class T>
struct HeldBy<std::map<std::string, T>> {
  static consteval Held of() { return held_by_owner<T>(); }
};
template <class... Ts>
struct HeldBy<std::variant<Ts...>> {
  static consteval Held of() {
    Held all{false, true, true};
    ((all = detail::join(all, held_by_owner<Ts>())), ...);
    return all;
  }
};

template <class T>
consteval Held held() {
  if constexpr (Module<T> && !std::is_const_v<T>)
    return {true, true, lists_every_member<T>()};
  else
    return HeldBy<T>::of();
}

}  // namespace detail

/// A module whose `fields` name every data member.
template <class M>
concept ListsEveryMember = Module<M> && detail::lists_every_member<std::remove_cvref_t<M>>();

}  // namespace bora
