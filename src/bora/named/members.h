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

#include "bora/named/named.h"

namespace bora {

/// A struct with a list of its fields.
template <class T>
concept Module = requires { typename std::remove_cvref_t<T>::fields; };

namespace detail {

template <auto Member>
struct Buffer {};  // in a list of fields: a member that holds no parameters, whatever its type
template <class T>
inline constexpr bool is_buffer = false;
template <auto Member>
inline constexpr bool is_buffer<Buffer<Member>> = true;

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

struct anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
struct a_parameter {
  template <class T>
    requires(NamedTensor<T> || Module<T>)
  operator T() const;  // NOLINT(google-explicit-constructor)
};

// Whether an aggregate can be made from so many values.
template <class T, std::size_t N>
inline constexpr bool takes = []<std::size_t... Is>(std::index_sequence<Is...>) {
  return requires { T{((void)Is, anything{})...}; };
}(std::make_index_sequence<N>{});

// The longest brace list that an aggregate accepts is its number of data members. A longer one may be
// accepted where a shorter one is not: a member in between has no default.
template <class T, std::size_t Listed>
inline constexpr bool takes_more = []<std::size_t... Is>(std::index_sequence<Is...>) {
  return (takes<T, Listed + 1 + Is> || ...);
}(std::make_index_sequence<16>{});

template <class M>
consteval bool lists_every_member() {
  constexpr std::size_t listed = M::fields::count;
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

template <class M, class T>
T type_of_member(T M::*);

template <auto Member>
consteval Held held_in() {
  if constexpr (is_buffer<std::remove_const_t<decltype(Member)>>)
    return {false, true, true};
  else
    return held<decltype(type_of_member(Member))>();
}

template <auto A, auto B>
inline constexpr bool same_member = false;
template <auto A>
inline constexpr bool same_member<A, A> = true;
template <auto... Members>
inline constexpr bool distinct_members = true;
template <auto First, auto... Rest>
inline constexpr bool distinct_members<First, Rest...> =
    (!same_member<First, Rest> && ...) && distinct_members<Rest...>;

}  // namespace detail

// Sentences for the compiler to say about a list of fields.
template <auto... Members>
concept each_member_is_listed_once = detail::distinct_members<Members...>;
/// Parameters lie in Named<...> and modules, or std::vector, array, optional, unique_ptr, variant and
/// map<std::string, ...> of these.
template <auto... Members>
concept every_parameter_can_be_walked = (detail::held_in<Members>().walked && ...);
template <auto... Members>
concept every_module_within_lists_its_members = (detail::held_in<Members>().listed && ...);

/// A module whose `fields` name every data member.
template <class M>
concept ListsEveryMember = Module<M> && detail::lists_every_member<std::remove_cvref_t<M>>();

}  // namespace bora
