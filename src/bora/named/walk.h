// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The walk over a module's fields: fields.h is for users.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
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

inline std::string join_kinds(const std::string& outer, std::string_view inner) {
  return inner.empty() ? outer : outer + "." + std::string(inner);
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

// Calls f(path, module) for each module before the walk enters it.
struct Ignore {
  template <class M>
  void operator()(const std::string& /*path*/, M& /*module*/) const {}
};

template <class F>
struct Walk {
  F& at_module;
  std::vector<core::Parameter>& out;
  std::size_t& next_id;
  std::string path;
  std::string module;
  core::Role role = core::Role::weight;
  core::Names inputs = {};
  bool elements_only = false;  // the module is a bare list: its elements are named by number alone
  bool skip_stacks = false;    // leaves such lists out
  bool counts_only = false;    // within one that is left out

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
      for (auto& [key, value] : member) (*this)(prefix(name) + key, value);
    } else if constexpr (Sequence<T>) {
      for (std::size_t i = 0; i < member.size(); ++i) (*this)(prefix(name) + std::to_string(i), member[i]);
    } else {
      if (member) (*this)(name, *member);
    }
  }

 private:
  std::string prefix(std::string_view name) const {
    return elements_only ? std::string() : std::string(name) + ".";
  }

  template <Axis... As>
  void add(std::string_view name, Named<As...>& parameter) {
    if (parameter.empty()) return;
    const auto id = next_id++;
    if (counts_only) return;
    auto& names = Axes<As...>::names;
    auto& array = parameter.mutable_array();
    const bool is_weight = name == "weight";
    out.push_back({.id = id,
                   .path = path + std::string(name),
                   .module = module,
                   .axes = {names.begin(), names.end()},
                   .inputs = is_weight ? std::vector<std::string_view>(inputs.begin(), inputs.end())
                                       : std::vector<std::string_view>{},
                   .role = name == "bias" ? core::Role::bias : role,
                   .trainable = core::trainable(array),
                   .array = &array});
  }

  template <class T>
  void enter(std::string_view name, T& member) {
    at_module(path + std::string(name), member);
    Walk inner{
        at_module,       out, next_id, path + std::string(name) + ".", join_kinds(module, kind_of<T>()),
        role_of<T>(role)};
    inner.skip_stacks = skip_stacks;
    inner.counts_only = counts_only;
    if constexpr (requires { typename T::in; }) inner.inputs = T::in::names;
    if constexpr (requires { T::elements_only; }) {
      inner.elements_only = T::elements_only;
      inner.counts_only = counts_only || skip_stacks;
    }
    T::fields::each(member, inner);
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
  std::vector<core::Parameter> out;
  std::size_t next_id = 0;
  Walk<F> walk{f, out, next_id, "", std::string(kind_of<M>()), role_of<M>(core::Role::weight)};
  walk.skip_stacks = skip_stacks;
  static_assert(ListsEveryMember<M>, "`fields` must name every data member of the module");
  M::fields::each(model, walk);
  core::require_distinct(out, type_name<M>());
  mark_head(model, out);
  return out;
}

}  // namespace bora::detail
