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

#include "bora/base/error.h"
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
    return given<Dim<A>>();
  }
  template <Module M>
  std::int64_t count() const {
    return given<Count<M>>().number;
  }
  template <class List>
  SizesOf<List> sizes_of() const {
    return sizes_of(List());
  }
  /// InvalidArgument, naming the axis or the block, for a size below one and a count below zero.
  void check() const { (check(std::get<Given>(given_)), ...); }
  /// Whether a Dim or Count has been looked up.
  template <class T>
  bool was_used() const {
    return used_[place<T>()];
  }

 private:
  template <class T>
  static constexpr std::size_t place() {
    std::size_t i = 0;
    static_cast<void>(((std::is_same_v<T, Given> || (++i, false)) || ...));
    return i;
  }
  template <class T>
  const T& given() const {
    const T& found = std::get<T>(given_);  // first: it says so where there is none
    used_[place<T>()] = true;
    return found;
  }
  template <Axis... As>
  SizesOf<Axes<As...>> sizes_of(Axes<As...>) const {
    SizesOf<Axes<As...>> out;
    out.sizes = {dim<As>().size...};
    return out;
  }
  template <Axis A>
  static void check(Dim<A> dim) {
    if (dim.size >= 1) return;
    fail(ErrorKind::InvalidArgument, "nn::init: the size of {} is {}\nhint: a size is at least 1", A::name,
         dim.size);
  }
  template <Module M>
  static void check(Count<M> count) {
    if (count.number >= 0) return;
    fail(ErrorKind::InvalidArgument, "nn::init: the count of {} is {}\nhint: a count is at least 0",
         bora::detail::type_name<M>(), count.number);
  }
  std::tuple<Given...> given_;
  mutable std::array<bool, sizeof...(Given)> used_{};
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

// For a member that holds parameters and that init does not make. An optional one stays empty.
template <class T>
struct init_makes_no {};
// For a module with an init of its own: nobody knows which sizes it asks for.
struct asks_by_itself {};
// In place of what is given: nothing is, and optional members ask too.
struct Asked {};

template <class T, class Given>
consteval auto missing_of_other() {
  if constexpr (Module<T>)
    return std::conditional_t<std::is_same_v<Given, Asked>, Types<asks_by_itself>, Types<>>();
  else if constexpr (bora::detail::held<T>().parameters)
    return Types<init_makes_no<T>>();
  else
    return Types<>();
}

// The Dims and Counts that a member asks for and that are not given, and what init does not make.
template <class T, class Given>
struct Missing {
  using type = decltype(missing_of_other<T, Given>());
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
struct Missing<std::optional<T>, Given> {
  using type = Types<>;
};
template <class T>
struct Missing<std::optional<T>, Asked> : Missing<T, Asked> {};
template <Module T, class Given>
struct Missing<std::vector<T>, Given> : join<unless_given<Count<T>, Given>, missing<T, Given>> {};
template <class T, std::size_t N, class Given>
  requires(Module<T> || NamedTensor<T>)
struct Missing<std::array<T, N>, Given> : Missing<T, Given> {};

template <class Fields, class Given>
struct MissingOfFields;
template <bora::detail::Field... Members, class Given>
struct MissingOfFields<Fields<Members...>, Given>
    : join_all<
          missing<std::conditional_t<Members.is_buffer, int, typename decltype(Members)::type>, Given>...> {};

template <class Sizes>
struct GivenOf;
template <class... Given>
struct GivenOf<InitSizes<Given...>> {
  using type = Types<Given...>;
};
template <class Sizes>
using given_of = typename GivenOf<Sizes>::type;

template <class Given>
struct sizes_from {
  using type = InitSizes<>;
};
template <class... Given>
struct sizes_from<Types<Given...>> {
  using type = InitSizes<Given...>;
};
template <class T, class Given>
inline constexpr bool walked = Module<T> && !InitsItself<T, typename sizes_from<Given>::type>;
template <class T, class Given>
  requires walked<T, Given>
struct Missing<T, Given> : MissingOfFields<typename T::fields, Given> {};

template <class T>
inline constexpr bool is_size = false;
template <class A>
inline constexpr bool is_size<Dim<A>> = true;
template <class M>
inline constexpr bool is_size<Count<M>> = true;
template <class T>
inline constexpr bool is_unmade = false;
template <class T>
inline constexpr bool is_unmade<init_makes_no<T>> = true;

template <class List>
struct Sorted;
template <class... Ts>
struct Sorted<Types<Ts...>> {
  using sizes = typename join_all<std::conditional_t<is_size<Ts>, Types<Ts>, Types<>>...>::type;
  using unmade = typename join_all<std::conditional_t<is_unmade<Ts>, Types<Ts>, Types<>>...>::type;
};
// What of Given nothing asks for.
template <class Asked, class... Given>
using unused = typename join_all<
    std::conditional_t<among<Given, Asked> || among<asks_by_itself, Asked>, Types<>, Types<Given>>...>::type;

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
    parameter = made<As...>(name, key.fold(name));
  }
  template <Axis... As, std::size_t N>
  void operator()(std::string_view name, std::array<Named<As...>, N>& list) const {
    for (std::size_t i = 0; i < N; ++i) list[i] = made<As...>(name, key.fold(name).fold(i));
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
  template <Axis... As>
  Named<As...> made(std::string_view name, Key own) const {
    constexpr Rule kRule = rule_of<M>();
    static_assert(kRule != Rule::unknown,
                  "a module with parameters of its own needs static M init(const auto& sizes, Key key)");
    const auto shape = sizes.template sizes_of<Axes<As...>>();
    if (name == "bias") return zeros_parameter(shape);
    if constexpr (kRule == Rule::ones) return ones_parameter(shape);
    return normal_parameter(own, std_of<kRule>(), shape);
  }
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
  if constexpr (InitsItself<M, Sizes>) {
    return M::init(sizes, key);
  } else {
    static_assert(std::is_same_v<typename Sorted<missing<M, given_of<Sizes>>>::unmade, Types<>>,
                  "init makes Named, modules, arrays of either and vectors of modules: a module with another "
                  "member that holds parameters needs static M init(const auto& sizes, Key key)");
    return default_init<M>(sizes, key);
  }
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
using MissingSizes = typename detail::Sorted<detail::missing<M, detail::Types<Given...>>>::sizes;
template <class M, class... Given>
concept EverySizeGiven = std::is_same_v<MissingSizes<M, Given...>, detail::Types<>>;

/// Those of Given that are the size of no parameter, and the count of no list. A module with an init of its own may use
/// any.
template <class M, class... Given>
using UnusedSizes = detail::unused<detail::missing<M, detail::Asked>, Given...>;
/// The members of M and of its modules that hold parameters and that init does not make, as init_makes_no<member>.
template <class M, class... Given>
using UnmadeMembers = typename detail::Sorted<detail::missing<M, detail::Types<Given...>>>::unmade;

/// What is wrong with a call of init.
enum class InitFault { none, size_twice, unmade_member, missing_size, unused_size };

namespace detail {
template <class T, class... Ts>
inline constexpr int times_in = (0 + ... + int{std::is_same_v<T, Ts>});
template <class M, class... Given>
consteval InitFault init_fault() {
  if constexpr (((times_in<Given, Given...> > 1) || ...))
    return InitFault::size_twice;
  else if constexpr (!std::is_same_v<UnmadeMembers<M, Given...>, Types<>>)
    return InitFault::unmade_member;
  else if constexpr (!EverySizeGiven<M, Given...>)
    return InitFault::missing_size;
  else if constexpr (!std::is_same_v<UnusedSizes<M, Given...>, Types<>>)
    return InitFault::unused_size;
  else
    return InitFault::none;
}
}  // namespace detail
namespace detail {
// The types do not say which sizes a module with an init of its own asks for. A list without blocks asks for none.
template <class M, class... Given>
void require_used(const InitSizes<Given...>& sizes, const Given&... given) {
  using AskedFor = missing<M, Asked>;
  const auto empty = [](const auto& one) {
    if constexpr (requires { one.number; }) return one.number == 0;
    return false;
  };
  if (!among<asks_by_itself, AskedFor> || (empty(given) || ...)) return;
  const auto check = [&]<class T>(const T&) {
    if (among<T, AskedFor> || sizes.template was_used<T>()) return;
    if constexpr (requires { T::axis_type::name; })
      fail(ErrorKind::InvalidArgument, "nn::init: {} is the size of no parameter of {}", T::axis_type::name,
           bora::detail::type_name<M>());
    fail(ErrorKind::InvalidArgument, "nn::init: {} is the count of no list of {}",
         bora::detail::type_name<T>(), bora::detail::type_name<M>());
  };
  (check(given), ...);
}
}  // namespace detail
template <InitFault fault, class M, class... Given>
concept InitHas = detail::init_fault<M, Given...>() == fault;

/// A new model, from the size of each axis and the number of blocks in each list:
///
///     auto model = nn::init<Model>(key, Dim<Vocab>{256}, Dim<Embed>{64}, nn::Count<Block>{2});
///
/// Layers with inputs (Linear) get normal weights of standard deviation 1/sqrt(inputs), embeddings normal
/// ones of 0.02, norms ones, biases zeros; an optional member stays empty, and what is no parameter keeps its
/// default. A std::array of Named is made as its elements are. Each parameter has the key of its path: key.fold("layers").fold(0).fold("attn")... A module that
/// differs has a static init(const auto& sizes, Key key), which may start from default_init. A size that is
/// missing, given twice or that of no parameter is a compile error, and so is a member that holds parameters and is none
/// of these (a map, a std::unique_ptr, a std::variant, a std::vector of Named). InvalidArgument for a size below one and
/// a count below zero, and for a size of nothing that only a module with an init of its own could have used.
template <Module M, class... Given>
  requires InitHas<InitFault::none, M, Given...>
M init(Key key, Given... given) {
  const InitSizes<Given...> sizes(given...);
  sizes.check();
  auto model = detail::init_module<M>(sizes, key);
  detail::require_used<M>(sizes, given...);
  return model;
}

// The last parameter of these is what both compilers show.
template <Module M, class... Given, class Missing = MissingSizes<M, Given...>>
  requires InitHas<InitFault::missing_size, M, Given...>
__attribute__((unavailable(
    "sizes are missing, those in Types<...>: pass a Dim for each axis, a Count for each block"))) Missing
init(Key key, Given... given);
template <Module M, class... Given, class Unused = UnusedSizes<M, Given...>>
  requires InitHas<InitFault::unused_size, M, Given...>
__attribute__((unavailable(
    "a size is that of no parameter of the model, or a count that of no list: those in Types<...>"))) Unused
init(Key key, Given... given);
template <Module M, class... Given>
  requires InitHas<InitFault::size_twice, M, Given...>
__attribute__((unavailable("a size is given twice"))) M init(Key key, Given... given);
template <Module M, class... Given, class Unmade = UnmadeMembers<M, Given...>>
  requires InitHas<InitFault::unmade_member, M, Given...>
__attribute__((unavailable(
    "init makes Named, modules, arrays of either and vectors of modules: a module with the member in "
    "Types<...> needs static M init(const auto& sizes, Key key)"))) Unmade
init(Key key, Given... given);

}  // namespace bora::nn
