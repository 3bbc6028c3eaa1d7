// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The parameters of a module without macros, strings or registration.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/named/field.h"
#include "bora/named/members.h"
#include "bora/named/named.h"
#include "bora/named/walk.h"

namespace bora {

// A sentence for the compiler to say about a list of fields; field.h has those about one of them.
template <auto... Members>
concept each_member_is_listed_once = detail::distinct_members<Members...>;

/// The data members of a module, in order: `using fields = Fields<&Block::norm, &Block::attn>;`. The walk
/// enters modules, and std::vector, array, optional, unique_ptr, variant and map<std::string, ...> of modules
/// and of Named<...>; plain values are no parameters. Refused by the compiler: a member that stands twice or
/// not at all, and one that holds parameters which the walk cannot reach.
template <detail::Field... Members>
  requires each_member_is_listed_once<Members...>
struct Fields {
  static constexpr std::size_t count = sizeof...(Members);
  /// In a brace list without inner braces, where an array takes one for each element.
  static constexpr std::size_t values = (std::size_t{0} + ... + Members.values);

  template <class M>
  static constexpr bool are_of = (std::is_base_of_v<typename decltype(Members)::owner, M> && ...);

  template <class M, class Visit>
  static void each(M& module, Visit&& visit) {
    (visit_one<Members>(module, visit), ...);
  }
  template <class M>
  static constexpr std::array<const void*, count> places(const M& module) {
    return {&(module.*Members.pointer)...};
  }

 private:
  template <detail::Field Member, class M, class Visit>
  static void visit_one(M& module, Visit& visit) {
    if constexpr (!Member.is_buffer) visit(detail::member_name<Member.pointer>(), module.*Member.pointer);
  }
};

/// Marks a tensor that is a table and no parameter: `Fields<&Model::weight, buffer<&Model::angles>>`. It is
/// not trained, saved or counted.
template <auto Member>
inline constexpr auto buffer = detail::as_buffer(Member);

namespace detail {
struct parameters_needs_a_model_that_is_not_const;  // a sentence for the compiler to say
template <class LeftOut>
concept LeavesOut = !std::is_same_v<LeftOut, nothing_is_left_out>;
}  // namespace detail

/// Every parameter of a model, depth first in order of declaration. The references stay valid while the model
/// is not moved or resized. InvalidArgument, naming both, for two fields that share one array.
template <Module M, class LeftOut = detail::left_out<M>>
std::vector<core::Parameter> parameters(M& model)
#if defined(__clang__)  // each compiler's way to point at the caller's line
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
    __attribute__((diagnose_if(std::is_const_v<M>, "parameters needs a model that is not const", "error")));
#pragma clang diagnostic pop
template <Module M, class LeftOut = detail::left_out<M>>
  requires detail::LeavesOut<LeftOut>
__attribute__((unavailable("`fields` must name every data member of the module"))) LeftOut
parameters(M& model);
#else
    ;
template <Module M, class LeftOut = detail::left_out<M>>
  requires detail::LeavesOut<LeftOut>
LeftOut parameters(M& model) = delete;
template <Module M>
detail::parameters_needs_a_model_that_is_not_const parameters(const M& model) = delete;
#endif
template <Module M, class LeftOut>
std::vector<core::Parameter> parameters(M& model) {
  return detail::walk(model, false);
}

template <Module M>
std::vector<core::Parameter> parameters_outside_stacks(M& model) {
  return detail::walk(model, true);
}

/// f(path, module) for every module within a model, from the outside in: it may change the module.
template <Module M, class F>
void visit_modules(M& model, F f) {
  detail::walk(model, false, f);
}

/// Number of elements of all parameters.
template <Module M>
std::int64_t parameter_count(M& model) {
  std::int64_t n = 0;
  for (auto& p : parameters(model)) n += p.array->numel();
  return n;
}

}  // namespace bora
