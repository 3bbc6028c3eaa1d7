// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Named<...>: a tensor whose axes the compiler knows. Sizes, dtypes and devices stay values.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/core/array.h"
#include "bora/core/mapping.h"
#include "bora/core/shape.h"
#include "bora/core/shard.h"
#include "bora/named/axis.h"

// A function whose result is `const Named<Embed, Vocab>&` and that returns a Named<Vocab, Embed> would refer
// to a converted copy that is gone at once. Both compilers see it; here it is an error, for whoever includes
// this.
#ifdef __clang__
#pragma clang diagnostic error "-Wreturn-stack-address"
#else
#pragma GCC diagnostic error "-Wreturn-local-addr"
#pragma GCC diagnostic ignored_attributes "clang::lifetimebound"  // by which clang sees operand() too
#endif

namespace bora {

// A sentence for the compiler to say.
template <class... As>
concept each_axis_only_once = distinct<Axes<As...>>;

template <Axis... As>
  requires each_axis_only_once<As...>
class Named;
template <Axis... As>
  requires each_axis_only_once<As...>
class Indices;
class DynNamed;

namespace detail {
template <class T>
struct axes_of_impl {};
template <class... As>
struct axes_of_impl<Named<As...>> {
  using type = Axes<As...>;
};
template <class... As>
struct axes_of_impl<Indices<As...>> {
  using type = Axes<As...>;
};
template <class List>
struct over;
template <class... As>
struct over<Axes<As...>> {
  using type = Named<As...>;
  using indices = Indices<As...>;
};
template <class T>
inline constexpr bool is_named = false;
template <class... As>
inline constexpr bool is_named<Named<As...>> = true;
template <class T>
inline constexpr bool is_indices = false;
template <class... As>
inline constexpr bool is_indices<Indices<As...>> = true;

core::Array checked_rank(core::Array array, core::Names names, std::string_view what);
void require_integers(const core::Array& array, core::Names names);

template <class T>
std::vector<T> to_vector(const core::Operand& x) {
  core::require_whole("to_vector", x);
  return x.array.template to_vector<T>();
}
}  // namespace detail

template <class T>
using axes_of = typename detail::axes_of_impl<std::remove_cvref_t<T>>::type;
/// Named<As...> for Axes<As...>.
template <class List>
using named_over = typename detail::over<List>::type;
template <class List>
using indices_over = typename detail::over<List>::indices;

template <class T>
concept NamedTensor = detail::is_named<std::remove_cvref_t<T>>;
template <class T>
concept IndexTensor = detail::is_indices<std::remove_cvref_t<T>>;
template <class T>
concept AnyTensor = NamedTensor<T> || IndexTensor<T>;

/// T has each of these axes.
template <class T, class... As>
concept HasAxes = AnyTensor<T> && (contains<As, axes_of<T>> && ...);
/// T has none of these axes.
template <class T, class... As>
concept LacksAxes = AnyTensor<T> && (!contains<As, axes_of<T>> && ...);
/// The axes of one lie within the other's: no result has an axis that neither operand would have had alone.
template <class X, class Y>
concept Broadcastable = subset<axes_of<X>, axes_of<Y>> || subset<axes_of<Y>, axes_of<X>>;
/// The same axes, in any order.
template <class X, class Y>
concept SameAxes = same_axes<axes_of<X>, axes_of<Y>>;

/// A tensor with axes As..., one pointer wide. The order is layout, not meaning: any permutation converts (a
/// stride change). The only way in is from_array<As...>(array), the only way out x.array().
template <Axis... As>
  requires each_axis_only_once<As...>
class Named {
 public:
  using axes = Axes<As...>;

  Named() = default;  ///< empty: a parameter not yet made
  template <Axis... Bs>
    requires(SameAxes<Named<Bs...>, Named> && !std::is_same_v<Axes<Bs...>, axes>)
  Named(const Named<Bs...>& other)  // NOLINT(google-explicit-constructor)
      : array_(core::rearrange({other.array(), Axes<Bs...>::names}, axes::names)) {}

  template <Axis A>
    requires HasAxes<Named, A>
  std::int64_t size() const {
    return core::whole_size(array_, index_of<A, axes>);
  }
  template <Axis A>
    requires HasAxes<Named, A>
  Dim<A> dim() const {
    return Dim<A>{size<A>()};
  }
#if defined(__clang__)  // as in refusals_for_clang.h
  template <Axis A, class Tensor = Named>
  __attribute__((unavailable("the tensor does not have this axis"))) std::int64_t size() const;
  template <Axis A, class Tensor = Named>
  __attribute__((unavailable("the tensor does not have this axis"))) Dim<A> dim() const;
#endif

  core::DType dtype() const { return array_.dtype(); }
  bool empty() const { return array_.empty(); }
  double item() const
    requires(sizeof...(As) == 0)
  {
    return array_.item();
  }
  /// Elements in row-major order of As....
  template <class T = float>
  std::vector<T> to_vector() const {
    return detail::to_vector<T>({array_, axes::names});
  }

  const core::Array& array() const& noexcept [[clang::lifetimebound]] { return array_; }
  core::Array array() && noexcept { return std::move(array_); }
  /// For optimizers and loaders.
  core::Array& mutable_array() noexcept [[clang::lifetimebound]] { return array_; }
  /// Refers to this tensor: valid while it lives.
  core::Operand operand() const& noexcept [[clang::lifetimebound]] { return {array_, axes::names}; }
  __attribute__((unavailable("it refers to a temporary tensor: give the tensor a name first"))) core::Operand
  operand() const&& noexcept;

  /// For ops only; everyone else uses from_array.
  static Named adopt(core::Array array) {
    Named out;
    out.array_ = std::move(array);
    return out;
  }

 private:
  core::Array array_;
};

/// Integers that name places along another axis (token ids, top-k places). A type of their own: they cannot
/// be added, scaled or contracted.
template <Axis... As>
  requires each_axis_only_once<As...>
class Indices {
 public:
  using axes = Axes<As...>;

  Indices() = default;
  template <Axis... Bs>
    requires(SameAxes<Indices<Bs...>, Indices> && !std::is_same_v<Axes<Bs...>, axes>)
  Indices(const Indices<Bs...>& other)  // NOLINT(google-explicit-constructor)
      : array_(core::rearrange({other.array(), Axes<Bs...>::names}, axes::names)) {}

  template <Axis A>
    requires HasAxes<Indices, A>
  std::int64_t size() const {
    return core::whole_size(array_, index_of<A, axes>);
  }
  template <Axis A>
    requires HasAxes<Indices, A>
  Dim<A> dim() const {
    return Dim<A>{size<A>()};
  }
#if defined(__clang__)  // as in refusals_for_clang.h
  template <Axis A, class Tensor = Indices>
  __attribute__((unavailable("the tensor does not have this axis"))) std::int64_t size() const;
  template <Axis A, class Tensor = Indices>
  __attribute__((unavailable("the tensor does not have this axis"))) Dim<A> dim() const;
#endif
  bool empty() const { return array_.empty(); }
  std::int64_t item() const
    requires(sizeof...(As) == 0)
  {
    return static_cast<std::int64_t>(array_.item());
  }
  template <class T = std::int64_t>
  std::vector<T> to_vector() const {
    return detail::to_vector<T>({array_, axes::names});
  }

  const core::Array& array() const& noexcept [[clang::lifetimebound]] { return array_; }
  core::Array array() && noexcept { return std::move(array_); }
  core::Operand operand() const& noexcept [[clang::lifetimebound]] { return {array_, axes::names}; }
  __attribute__((unavailable("it refers to a temporary tensor: give the tensor a name first"))) core::Operand
  operand() const&& noexcept;
  static Indices adopt(core::Array array) {
    Indices out;
    out.array_ = std::move(array);
    return out;
  }

 private:
  core::Array array_;
};

/// Names the dimensions of an array, in order. Error: another rank.
template <Axis... As>
Named<As...> from_array(core::Array array) {
  return Named<As...>::adopt(detail::checked_rank(std::move(array), Axes<As...>::names, "from_array"));
}
/// The same for integers (i32 or i64).
template <Axis... As>
Indices<As...> indices_from_array(core::Array array) {
  detail::require_integers(array, Axes<As...>::names);
  return Indices<As...>::adopt(
      detail::checked_rank(std::move(array), Axes<As...>::names, "indices_from_array"));
}

/// A tensor whose axes are known only at run time: for tools. Static to dynamic is implicit; dynamic to
/// static is checked: x.as<Batch, Pos>() fails with both sides unless the names agree (in any order).
class DynNamed {
 public:
  DynNamed(core::Array array, std::vector<std::string> names);
  template <Axis... As>
  DynNamed(const Named<As...>& x) : DynNamed(x.array(), {std::string(As::name)...}) {}  // NOLINT

  const core::Array& array() const { return array_; }
  const std::vector<std::string>& names() const { return names_; }
  std::string describe() const;

  template <Axis... As>
  Named<As...> as() const {
    return Named<As...>::adopt(in_order(Axes<As...>::names));
  }

 private:
  core::Array in_order(core::Names names) const;
  core::Array array_;
  std::vector<std::string> names_;
};

}  // namespace bora
