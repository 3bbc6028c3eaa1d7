// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// New models without an init of their own: each layer by its kind, from the sizes of the axes.
#pragma once
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/named/fields.h"
#include "bora/nn/init.h"

namespace bora::nn {

/// How many of a block a model has in a std::vector or nn::Stacked: Count<Block>{12}.
template <Module M>
struct Count {
  std::int64_t number;
  constexpr explicit Count(std::int64_t n) : number(n) {}
};

/// Sizes by axis and counts by block, looked up when compiling.
template <class... Given>
class InitSizes {
 public:
  explicit InitSizes(Given... given) : given_(given...) {}
  template <Axis A>
  Dim<A> dim() const {
    return std::get<Dim<A>>(given_);
  }
  template <Module M>
  std::int64_t count() const {
    return std::get<Count<M>>(given_).number;
  }
  template <class List>
  SizesOf<List> sizes_of() const {
    return sizes_of(List());
  }

 private:
  template <Axis... As>
  SizesOf<Axes<As...>> sizes_of(Axes<As...>) const {
    SizesOf<Axes<As...>> out;
    out.sizes = {dim<As>().size...};
    return out;
  }
  std::tuple<Given...> given_;
};

/// A module with an init of its own for its place in a model: static M init(const auto& sizes, Key key).
template <class M, class Sizes>
concept InitsItself = requires(const Sizes& sizes, Key key) {
  { M::init(sizes, key) } -> std::same_as<M>;
};

/// See init() below; walks the fields of M even where M inits itself, so that such an init may start from it.
template <Module M, class... Given>
M default_init(const InitSizes<Given...>& sizes, Key key);

namespace detail {

// ---- what a model needs, by its type

template <class... Ts>
struct Types {};
template <class T, class List>
inline constexpr bool among = false;
template <class T, class... Ts>
inline constexpr bool among<T, Types<Ts...>> = (std::is_same_v<T, Ts> || ...);

// The Dims and Counts that a member asks for and that are not given.
template <class T, class Given>
struct Missing {
  using type = Types<>;
};
template <class T, class Given>
using missing = typename Missing<T, Given>::type;

template <class A, class B>
struct join;
template <class... As, class... Bs>
struct join<Types<As...>, Types<Bs...>> {
  using type = Types<As..., Bs...>;
};
template <class... Lists>
struct join_all {
  using type = Types<>;
};
template <class First, class... Rest>
struct join_all<First, Rest...> : join<First, typename join_all<Rest...>::type> {};

template <class T, class Given>
using unless_given = std::conditional_t<among<T, Given>, Types<>, Types<T>>;

template <class... As, class Given>
struct Missing<Named<As...>, Given> : join_all<unless_given<Dim<As>, Given>...> {};
template <class T, class Given>
struct Missing<std::vector<T>, Given> {
  using type = Types<>;
};
template <Module T, class Given>
struct Missing<std::vector<T>, Given> : join<unless_given<Count<T>, Given>, missing<T, Given>> {};
template <class T, std::size_t N, class Given>
struct Missing<std::array<T, N>, Given> : Missing<T, Given> {};

template <class Fields, class Given>
struct MissingOfFields;
template <bora::detail::Field... Members, class Given>
struct MissingOfFields<Fields<Members...>, Given>
    : join_all<
          missing<std::conditional_t<Members.is_buffer, int, typename decltype(Members)::type>, Given>...> {};

template <class Given>
struct sizes_from;
template <class... Given>
struct sizes_from<Types<Given...>> {
  using type = InitSizes<Given...>;
};
template <class T, class Given>
inline constexpr bool walked = Module<T> && !InitsItself<T, typename sizes_from<Given>::type>;
template <class T, class Given>
  requires walked<T, Given>
struct Missing<T, Given> : MissingOfFields<typename T::fields, Given> {};

// ---- the walk

enum class Rule { fan_in, ones, embedding, unknown };

// A layer with `in` maps from those axes; norms and embeddings are known by their kind.
template <class M>
consteval Rule rule_of() {
  std::string_view kind;
  if constexpr (requires { M::kind; }) kind = M::kind;
  if (requires { typename M::in; }) return Rule::fan_in;
  if (kind.find("Norm") != kind.npos) return Rule::ones;
  return kind.find("Embedding") != kind.npos ? Rule::embedding : Rule::unknown;
}

template <Module M, class Sizes>
M init_module(const Sizes& sizes, Key key);

template <class M, class Sizes>
struct InitWalk {
  const Sizes& sizes;
  Key key;

  template <Axis... As>
  void operator()(std::string_view name, Named<As...>& parameter) const {
    constexpr Rule kRule = rule_of<M>();
    static_assert(kRule != Rule::unknown,
                  "a module with parameters of its own needs static M init(const auto& sizes, Key key)");
    const auto shape = sizes.template sizes_of<Axes<As...>>();
    if (name == "bias")
      parameter = zeros_parameter(shape);
    else if constexpr (kRule == Rule::ones)
      parameter = ones_parameter(shape);
    else
      parameter = normal_parameter(key.fold(name), std_of<kRule>(), shape);
  }
  template <Module T>
  void operator()(std::string_view name, std::vector<T>& list) const {
    constexpr bool kBare = requires { M::elements_only; };  // its elements are named by number alone
    const Key all = kBare ? key : key.fold(name);
    for (std::int64_t i = 0; i < sizes.template count<T>(); ++i)
      list.push_back(init_module<T>(sizes, all.fold(static_cast<std::uint64_t>(i))));
  }
  template <Module T, std::size_t N>
  void operator()(std::string_view name, std::array<T, N>& list) const {
    for (std::size_t i = 0; i < N; ++i) list[i] = init_module<T>(sizes, key.fold(name).fold(i));
  }
  template <class T>
  void operator()(std::string_view name, T& member) const {
    if constexpr (Module<T>) member = init_module<T>(sizes, key.fold(name));
  }

 private:
  template <Rule rule>
  double std_of() const {
    if constexpr (rule == Rule::fan_in) {
      double fan_in = 1;
      for (const std::int64_t n : sizes.template sizes_of<typename M::in>().sizes)
        fan_in *= static_cast<double>(n);
      return 1 / std::sqrt(fan_in);
    } else {
      return 0.02;
    }
  }
};

template <Module M, class Sizes>
M init_module(const Sizes& sizes, Key key) {
  if constexpr (InitsItself<M, Sizes>)
    return M::init(sizes, key);
  else
    return default_init<M>(sizes, key);
}

}  // namespace detail

template <Module M, class... Given>
M default_init(const InitSizes<Given...>& sizes, Key key) {
  M out{};
  M::fields::each(out, detail::InitWalk<M, InitSizes<Given...>>{sizes, key});
  return out;
}

/// The Dims and Counts that init<M> needs beside these: Types<Dim<Vocab>> or Types<>.
template <class M, class... Given>
using MissingSizes = detail::missing<M, detail::Types<Given...>>;
template <class M, class... Given>
concept EverySizeGiven = std::is_same_v<MissingSizes<M, Given...>, detail::Types<>>;

/// A new model, from the size of each axis and the number of blocks in each list:
///
///     auto model = nn::init<Model>(key, Dim<Vocab>{256}, Dim<Embed>{64}, nn::Count<Block>{2});
///
/// Layers with inputs (Linear) get normal weights of standard deviation 1/sqrt(inputs), embeddings normal
/// ones of 0.02, norms ones, biases zeros; an optional member stays empty, and what is no parameter keeps its
/// default. Each parameter has the key of its path: key.fold("layers").fold(0).fold("attn")... A module that
/// differs has a static init(const auto& sizes, Key key), which may start from default_init. A size that is
/// missing is a compile error.
template <Module M, class... Given>
  requires EverySizeGiven<M, Given...>
M init(Key key, Given... given) {
  return detail::init_module<M>(InitSizes<Given...>(given...), key);
}

template <Module M, class... Given>
  requires(!EverySizeGiven<M, Given...>)
__attribute__((
    unavailable("sizes are missing, those in Types<...>: pass a Dim for each axis, a Count for each block")))
MissingSizes<M, Given...>
init(Key key, Given... given);

}  // namespace bora::nn
