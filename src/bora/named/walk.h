// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The walk over a module's fields: fields.h is for users.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/named/members.h"
#include "bora/named/named.h"

namespace bora::detail {

template <class M>
constexpr std::string_view kind_of() {
  if constexpr (requires { M::kind; })
    return M::kind;
  else
    return {};
}

// What a module's parameters are for: what it says (`role`), or its kind, or the module around it.
template <class M>
constexpr core::Role role_of(core::Role outer) {
  const auto says = [](std::string_view word) { return kind_of<M>().find(word) != std::string_view::npos; };
  if constexpr (requires { M::role; }) return M::role;
  if (says("Norm")) return core::Role::norm;
  if (says("Embedding")) return core::Role::embedding;
  return outer;
}

template <class T>
concept Sequence = requires(T& list) {
  list.begin();
  list[0];
} && !requires { typename T::mapped_type; };
template <class T>
concept StringMap = requires(T& map) {
  map.begin()->first.size();
  typename T::mapped_type;
};
template <class T>
concept Owner = requires(T& owner) {
  *owner;
  static_cast<bool>(owner);
};
template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;

// What a walk needs to know of a module that it enters.
struct ModuleFacts {
  std::string_view kind;
  core::Role role = core::Role::weight;
  core::Names inputs = {};
  bool is_list = false;        // whose elements are named by number: a stack
  bool elements_only = false;  // and by number alone
};

template <class M>
ModuleFacts facts_of(core::Role outer) {
  ModuleFacts facts{kind_of<M>(), role_of<M>(outer)};
  if constexpr (requires { typename M::in; }) facts.inputs = M::in::names;
  if constexpr (requires { M::elements_only; }) {
    facts.is_list = true;
    facts.elements_only = M::elements_only;
  }
  return facts;
}

// Where a walk is, and what it has found: all of it that is the same for every type.
class WalkState {
  // What the module around says of its members.
  struct Place {
    core::Role role;
    core::Names inputs = {};
    bool elements_only = false, counts_only = false;
  };

 public:
  /// `skip_stacks`: leaves bare lists out.
  WalkState(const ModuleFacts& model, bool skip_stacks);

  core::Role role() const { return place_.role; }
  std::string path_of(std::string_view name) const;
  std::string element(std::string_view name, std::size_t i) const;
  std::string entry(std::string_view name, std::string_view key) const;
  /// Counts a parameter; whether it is wanted.
  bool takes_next();
  /// The one just counted.
  void add(std::string_view name, core::Names axes, core::Array& array);
  std::vector<core::Parameter> take() { return std::move(found_); }

  /// Within a module while it lives.
  class Within {
   public:
    Within(WalkState& state, std::string_view name, const ModuleFacts& module);
    ~Within();
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    WalkState& state_;
    std::size_t path_, module_;  // lengths before
    Place before_;
  };

 private:
  std::string path_, module_;
  Place place_;
  std::vector<core::Parameter> found_;
  std::size_t next_id_ = 0;
  bool skip_stacks_;
};

// Calls f(path, module) for each module before the walk enters it.
struct Ignore {
  template <class M>
  void operator()(const std::string& /*path*/, M& /*module*/) const {}
};

template <class F>
struct Walk {
  F& at_module;
  WalkState& state;

  template <class T>
  void operator()(std::string_view name, T& member) {
    if constexpr (!held<T>().parameters) {
      return;
    } else if constexpr (NamedTensor<T>) {
      add(name, member);
    } else if constexpr (Module<T>) {
      enter(name, member);
    } else if constexpr (is_variant<T>) {
      std::visit([&](auto& choice) { (*this)(name, choice); }, member);
    } else if constexpr (StringMap<T>) {
      for (auto& [key, value] : member) (*this)(state.entry(name, key), value);
    } else if constexpr (Sequence<T>) {
      for (std::size_t i = 0; i < member.size(); ++i) (*this)(state.element(name, i), member[i]);
    } else {
      if (member) (*this)(name, *member);
    }
  }

 private:
  template <Axis... As>
  void add(std::string_view name, Named<As...>& parameter) {
    if (!parameter.empty() && state.takes_next())
      state.add(name, Axes<As...>::names, parameter.mutable_array());
  }
  template <class T>
  void enter(std::string_view name, T& member) {
    if constexpr (!std::is_same_v<F, Ignore>) at_module(state.path_of(name), member);
    const WalkState::Within within(state, name, facts_of<T>(state.role()));
    T::fields::each(member, *this);
  }
};

// What head() of a language model returns, unless it is the embedding.
template <class M>
void mark_head(const M& model, std::vector<core::Parameter>& parameters) {
  if constexpr (requires { model.head().array(); }) {
    for (auto& p : parameters) {
      if (p.role == core::Role::weight && p.array->node() == model.head().array().node())
        p.role = core::Role::head;
    }
  }
}

template <class M, class F = Ignore>
std::vector<core::Parameter> walk(M& model, bool skip_stacks, F f = {}) {
  WalkState state({kind_of<M>(), role_of<M>(core::Role::weight)}, skip_stacks);
  static_assert(ListsEveryMember<M>, "`fields` must name every data member of the module");
  M::fields::each(model, Walk<F>{f, state});
  auto out = state.take();
  core::require_distinct(out, type_name<M>());
  mark_head(model, out);
  return out;
}

}  // namespace bora::detail
