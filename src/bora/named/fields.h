// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The parameters of a module without macros, strings or registration.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/named/named.h"

namespace bora {

namespace detail {

template <auto Member>
consteval std::string_view member_name() {
  std::string_view s = __PRETTY_FUNCTION__;  // "... [with auto Member = &Attention::q_proj; ...]"
  s = s.substr(s.find("Member = ") + 9);
  s = s.substr(0, s.find_first_of(";]"));
  if (s.ends_with(')')) s.remove_suffix(1);
  return s.substr(s.rfind("::") + 2);
}

struct anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
// The longest brace list that an aggregate accepts is its number of data members.
template <class T, std::size_t... Is>
consteval bool accepts(std::index_sequence<Is...>) {
  return requires { T{((void)Is, anything{})...}; };
}
template <class T, std::size_t N = 24>
consteval std::size_t arity() {
  if constexpr (N == 0 || accepts<T>(std::make_index_sequence<N>{}))
    return N;
  else
    return arity<T, N - 1>();
}

}  // namespace detail

/// The data members of a module, in order: `using fields = Fields<&Block::norm, &Block::attn>;`. Leaving one
/// out is a compile error where the module is walked.
template <auto... Members>
struct Fields {
  static constexpr std::size_t count = sizeof...(Members);
  template <class Module, class Visit>
  static void each(Module& module, Visit&& visit) {
    (visit(detail::member_name<Members>(), module.*Members), ...);
  }
};

/// A struct with a list of its fields.
template <class T>
concept Module = requires {
  typename std::remove_cvref_t<T>::fields;
};

template <class M>
inline constexpr bool lists_every_field = M::fields::count == detail::arity<M>();

template <Module M, class Visit>
void visit_fields(M& module, Visit&& visit) {
  using Plain = std::remove_const_t<M>;
  static_assert(lists_every_field<Plain>, "`fields` must name every data member of the module");
  Plain::fields::each(module, visit);
}

namespace detail {

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

struct Walk {
  std::vector<core::Parameter>& out;
  std::string path;
  std::string module;
  core::Role role = core::Role::weight;
  core::Names inputs = {};
  bool elements_only = false;  // the module is a bare list: its elements are named by number alone
  bool skip_stacks = false;    // leaves such lists out

  template <Axis... As>
  void operator()(std::string_view name, Named<As...>& parameter) {
    if (parameter.empty()) return;
    auto& names = Axes<As...>::names;
    bool is_weight = name == "weight";
    auto& array = parameter.mutable_array();
    out.push_back({.id = out.size(),
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
  void operator()(std::string_view name, std::optional<T>& maybe) {
    if (maybe) (*this)(name, *maybe);
  }
  template <class T>
  void operator()(std::string_view name, std::vector<T>& list) {
    if constexpr (Module<T>) {
      auto prefix = elements_only ? std::string() : std::string(name) + ".";
      for (std::size_t i = 0; i < list.size(); ++i) (*this)(prefix + std::to_string(i), list[i]);
    }
  }
  template <class T>
  void operator()(std::string_view name, T& member) {
    if constexpr (Module<T>) {
      Walk inner{out, path + std::string(name) + ".", join_kinds(module, kind_of<T>()), role_of<T>(role)};
      inner.skip_stacks = skip_stacks;
      if constexpr (requires { typename T::in; }) inner.inputs = T::in::names;
      if constexpr (requires { T::elements_only; }) {
        if (skip_stacks) return;
        inner.elements_only = T::elements_only;
      }
      visit_fields(member, inner);
    }
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

}  // namespace detail

/// Every parameter of a model, depth first in order of declaration. The references stay valid while the model
/// is not moved or resized.
template <Module M>
std::vector<core::Parameter> parameters(M& model) {
  std::vector<core::Parameter> out;
  detail::Walk walk{out, "", std::string(detail::kind_of<M>()), detail::role_of<M>(core::Role::weight)};
  visit_fields(model, walk);
  detail::mark_head(model, out);
  return out;
}

/// Those that are not in a list of blocks (a module with elements_only, such as nn::Stacked).
template <Module M>
std::vector<core::Parameter> parameters_outside_stacks(M& model) {
  std::vector<core::Parameter> out;
  detail::Walk walk{out, "", std::string(detail::kind_of<M>()), detail::role_of<M>(core::Role::weight)};
  walk.skip_stacks = true;
  visit_fields(model, walk);
  return out;
}

/// Number of elements of all parameters.
template <Module M>
std::int64_t parameter_count(M& model) {
  std::int64_t n = 0;
  for (auto& p : parameters(model)) n += p.array->numel();
  return n;
}

}  // namespace bora
