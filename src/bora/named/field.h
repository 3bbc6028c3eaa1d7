// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// One entry of a module's list of fields, and the name of a member that a list leaves out.
#pragma once
#include <array>
#include <cstddef>
#include <type_traits>

#include "bora/named/aggregate.h"
#include "bora/named/members.h"

namespace bora::detail {

// What a compiler prints of a member: (& object<Block>.Block::mix), or &object.mix. There is no such object.
template <class M>
extern const M object;
struct Member {
  const void* at;
};

// Sentences for the compiler to say. Where one stands for a template parameter, clang shows it as that; g++ only as
// a type that has no `every_member`.
template <class M, Member Missing>
struct fields_leave_out {
#ifdef __clang__
  using every_member = fields_leave_out;
#endif
};
template <class M>
struct a_module_is_a_struct_without_constructors {
#ifdef __clang__
  using every_member = a_module_is_a_struct_without_constructors;
#endif
};
/// Parameters lie in Named<...> and modules, or std::vector, array, optional, unique_ptr, variant and
/// map<std::string, ...> of these. Of a class with members of its own nobody knows: `buffer` says that there are none.
template <class T>
struct parameters_cannot_be_reached_in {};
template <class M>
struct fields_name_members_of_another_struct {
#ifdef __clang__
  using every_member = fields_name_members_of_another_struct;
#endif
};
template <class M>
struct a_module_inherits_from_no_struct {
#ifdef __clang__
  using every_member = a_module_inherits_from_no_struct;
#endif
};
struct nothing_is_left_out {
  using every_member = nothing_is_left_out;
};

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
// The first member that the fields do not name; the module itself where that cannot be told.
template <class M>
consteval Member first_left_out() {
  constexpr auto n =
      member_count<M, M::fields::values + kMostMembers>() - (M::fields::values - M::fields::count);
  const auto named = M::fields::places(object<M>);
  const void* missing = &object<M>;
  bool found = false;  // no test for null: g++ cannot make it with its sanitizer of undefined behaviour
  with_members<n>(object<M>, [&](const auto&... members) {
    const auto look = [&](const void* member) {
      for (const void* place : named)
        if (place == member) return;
      if (!found) missing = member;
      found = true;
    };
    (look(&members), ...);
  });
  return {missing};
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <class M>
consteval bool lists_its_own() {
  if constexpr (requires { M::fields::template are_of<M>; })
    return M::fields::template are_of<M>;
  else
    return true;
}

// What a type's modules leave out: of the first that does.
template <class T>
struct LeftOutBy {
  using type = nothing_is_left_out;
};
template <class T>
consteval auto left_out_of() {
  if constexpr (Module<T> && !lists_its_own<T>())
    return fields_name_members_of_another_struct<T>{};
  else if constexpr (held<T>().listed)
    return nothing_is_left_out{};
  else if constexpr (!Module<T>)
    return typename LeftOutBy<T>::type{};
  else if constexpr (!std::is_aggregate_v<T>)
    return a_module_is_a_struct_without_constructors<T>{};
  else if constexpr (inherits<T>)
    return a_module_inherits_from_no_struct<T>{};
  else
    return fields_leave_out<T, first_left_out<T>()>{};
}
template <class T>
using left_out = decltype(left_out_of<T>());

template <class... Ts>
struct LeftOutFirst {
  using type = nothing_is_left_out;
};
template <class T, class... Ts>
struct LeftOutFirst<T, Ts...> {
  using type = typename std::conditional_t<std::is_same_v<left_out<T>, nothing_is_left_out>,
                                           LeftOutFirst<Ts...>, std::type_identity<left_out<T>>>::type;
};
template <template <class...> class Any, class... Ts>
struct LeftOutBy<Any<Ts...>> : LeftOutFirst<Ts...> {};
template <class T, std::size_t N>
struct LeftOutBy<std::array<T, N>> : LeftOutFirst<T> {};
template <class T, std::size_t N>
struct LeftOutBy<T[N]> : LeftOutFirst<T> {};
template <class T>
struct LeftOutBy<T*> : LeftOutFirst<T> {};
template <class T>
struct LeftOutBy<const T> : LeftOutFirst<T> {};

// How many values a brace list without inner braces has for it.
template <class T>
inline constexpr std::size_t values_of = 1;
template <class T, std::size_t N>
inline constexpr std::size_t values_of<T[N]> = N * values_of<T>;

template <class T>
using wrong_with = std::conditional_t<held<T>().walked, left_out<T>, parameters_cannot_be_reached_in<T>>;

// One entry of a list of fields, made from a pointer to a member; `Wrong` says why it cannot be one. A buffer holds no
// parameters, whatever its type.
template <class M, class T, bool Buffer = false, class Wrong = nothing_is_left_out>
struct Field {
  using type = T;
  using owner = M;
  static constexpr bool is_buffer = Buffer;
  static constexpr bool is_right = std::is_same_v<Wrong, nothing_is_left_out>;
  static constexpr std::size_t values = values_of<T>;
  T M::*pointer;

  consteval Field(T M::*member)  // NOLINT(google-explicit-constructor)
    requires is_right
      : pointer(member) {}
  consteval Field(T M::*member)
    requires(!is_right)
  = delete;
};
template <class M, class T>
Field(T M::*) -> Field<M, T, false, wrong_with<T>>;

template <class M, class T>
consteval auto as_buffer(T M::*member) {
  return Field<M, T, true>(member);
}

template <auto A, auto B>
inline constexpr bool same_member = false;
template <auto A>
inline constexpr bool same_member<A, A> = true;
template <auto... Members>
inline constexpr bool distinct_members = true;
template <auto First, auto... Rest>
inline constexpr bool distinct_members<First, Rest...> =
    (!same_member<First.pointer, Rest.pointer> && ...) && distinct_members<Rest...>;

}  // namespace bora::detail
