// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Axes as types: the whole type-level vocabulary of the static layer.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace bora {

template <std::size_t N>
struct FixedString {
  char text[N]{};
  consteval FixedString(const char (&s)[N]) {
    std::copy_n(s, N, text);
  }  // NOLINT(google-explicit-constructor)
  constexpr std::string_view view() const { return {text, N - 1}; }
};

struct axis_base {};

/// An axis is a type; its name is data that the type carries; its size is a value elsewhere.
///
///     struct Embed : axis<"embed"> {};
template <FixedString Name>
struct axis : axis_base {
  static constexpr std::string_view name = Name.view();
};

template <class T>
concept Axis = std::is_base_of_v<axis_base, T> && requires { T::name; };

/// An ordered list of axes.
template <Axis... As>
struct Axes {
  static constexpr std::size_t rank = sizeof...(As);
  static constexpr std::array<std::string_view, rank> names{As::name...};
};

/// The size of one axis, so that two integers cannot be swapped: Dim<Embed>{512}.
template <Axis A>
struct Dim {
  using axis_type = A;
  std::int64_t size;
  constexpr explicit Dim(std::int64_t n) : size(n) {}
};

template <class A, class List>
inline constexpr bool contains = false;
template <class A, class... Bs>
inline constexpr bool contains<A, Axes<Bs...>> = (std::is_same_v<A, Bs> || ...);

/// Position of A in the list, or -1.
template <class A, class List>
inline constexpr int index_of = -1;
template <class A, class... Bs>
inline constexpr int index_of<A, Axes<Bs...>> = [] {
  int i = 0;
  return ((std::is_same_v<A, Bs> || (++i, false)) || ...) ? i : -1;
}();

template <class Sub, class Super>
inline constexpr bool subset = false;
template <class... As, class Super>
inline constexpr bool subset<Axes<As...>, Super> = (contains<As, Super> && ...);

template <class X, class Y>
inline constexpr bool same_axes = subset<X, Y> && subset<Y, X>;

template <class List>
inline constexpr bool distinct = true;
template <class A, class... Bs>
inline constexpr bool distinct<Axes<A, Bs...>> = !contains<A, Axes<Bs...>> && distinct<Axes<Bs...>>;

namespace detail {
template <class X, class Y>
struct concat_impl;
template <class... As, class... Bs>
struct concat_impl<Axes<As...>, Axes<Bs...>> {
  using type = Axes<As..., Bs...>;
};

template <class List, class Drop, class Out = Axes<>>
struct without_impl {
  using type = Out;
};
template <class A, class... As, class Drop, class... Out>
struct without_impl<Axes<A, As...>, Drop, Axes<Out...>>
    : without_impl<Axes<As...>, Drop, std::conditional_t<contains<A, Drop>, Axes<Out...>, Axes<Out..., A>>> {
};

template <class List, class From, class To>
struct renamed_impl;
template <class... As, class From, class To>
struct renamed_impl<Axes<As...>, From, To> {
  using type = Axes<std::conditional_t<std::is_same_v<As, From>, To, As>...>;
};

// Puts the list New where the first axis of Old stands and drops the rest of Old.
template <class List, class Old, class New, class Out = Axes<>>
struct replaced_impl {
  using type = Out;
};
template <class A, class... As, class Old, class... New, class... Out>
struct replaced_impl<Axes<A, As...>, Old, Axes<New...>, Axes<Out...>>
    : replaced_impl<Axes<As...>, Old, Axes<New...>,
                    std::conditional_t<index_of<A, Old> == 0, Axes<Out..., New...>,
                                       std::conditional_t<contains<A, Old>, Axes<Out...>, Axes<Out..., A>>>> {
};

template <class T>
struct as_axes_impl {
  using type = Axes<T>;
};
template <class... As>
struct as_axes_impl<Axes<As...>> {
  using type = Axes<As...>;
};
}  // namespace detail

template <class X, class Y>
using concat = typename detail::concat_impl<X, Y>::type;
template <class X, class Drop>
using without = typename detail::without_impl<X, Drop>::type;
/// X's axes, then those of Y that X lacks.
template <class X, class Y>
using joined = concat<X, without<Y, X>>;
template <class X, class From, class To>
using renamed = typename detail::renamed_impl<X, From, To>::type;
template <class X, class Old, class New>
using replaced = typename detail::replaced_impl<X, Old, New>::type;
/// Axes<A> for an axis, the list itself for a list: layers take either.
template <class T>
using as_axes = typename detail::as_axes_impl<T>::type;

}  // namespace bora
