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

// A longer list may be taken where a shorter one is not: a member in between has no default.
template <class T, std::size_t Listed>
inline constexpr bool takes_more = []<std::size_t... Is>(std::index_sequence<Is...>) {
  return (takes<T, Listed + 1 + Is> || ...);
}(std::make_index_sequence<16>{});

template <class M>
consteval bool lists_every_member() {
  constexpr std::size_t listed = M::fields::values;
  return M::fields::template are_of<M> && std::is_aggregate_v<M> && takes<M, listed> &&
         !takes_more<M, listed>;
}

template <class T>
inline constexpr bool complete = requires { sizeof(T); };

// A configuration (base/binder.h) has none.
template <class T>
inline constexpr bool is_configuration = requires { &T::bind; };

// A struct of arrays that are tables, and says so: `static constexpr bool is_buffer = true;`.
template <class T>
inline constexpr bool is_buffer = requires { requires T::is_buffer; };

// Nothing can be told of a class with constructors or members of its own, an array among them, unless a library made it
// that knows no arrays, or it is copied as bytes, which no array is.
template <class T>
consteval bool is_closed() {
  return !std::is_trivially_copyable_v<T> && !type_name<T>().starts_with("std::") &&
         !type_name<T>().starts_with("nlohmann::");
}

// Whether parameters are, or may be, somewhere in a type that is no module: in what it is made of, what it points at, or
// a member of an aggregate, as far down as types are complete. `Around` are the aggregates that it is a member of.
template <class T, class... Around>
consteval bool hides_parameters();

template <class... Around>
struct a_member_with_parameters {
  template <class T>
    requires(hides_parameters<T, Around...>())
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <class T, class... Around, std::size_t... Before>
consteval bool some_member_hides(std::index_sequence<Before...> /*unused*/) {
  if constexpr (requires { T{((void)Before, anything{})..., a_member_with_parameters<T, Around...>{}}; })
    return true;
  if constexpr (takes<T, sizeof...(Before) + 1>)
    return some_member_hides<T, Around...>(std::make_index_sequence<sizeof...(Before) + 1>{});
  return false;
}

template <class T>
struct MadeOf {  // other types
  template <class... Around>
  static consteval bool hides() {
    if constexpr (!std::is_class_v<T> || !complete<T> || is_configuration<T> || is_buffer<T> ||
                  (std::is_same_v<T, Around> || ...))
      return false;
    else if constexpr (std::is_aggregate_v<T>)
      return some_member_hides<T, Around...>(std::index_sequence<>{});
    else
      return is_closed<T>();
  }
};
template <template <class...> class Any, class... Ts>
struct MadeOf<Any<Ts...>> {
  template <class... Around>
  static consteval bool hides() {
    return (hides_parameters<Ts, Around...>() || ...);
  }
};
template <class T, std::size_t N>
struct MadeOf<std::array<T, N>> : MadeOf<std::optional<T>> {};
template <class T, std::size_t N>
struct MadeOf<T[N]> : MadeOf<std::optional<T>> {};
template <class T>
struct MadeOf<T*> : MadeOf<std::optional<T>> {};

template <class T, class... Around>
consteval bool hides_parameters() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (NamedTensor<Plain> || Module<Plain>)
    return true;
  else
    return MadeOf<Plain>::template hides<Around...>();
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
  static consteval Held of() { return unwalked({hides_parameters<T>(), true, true}); }
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
