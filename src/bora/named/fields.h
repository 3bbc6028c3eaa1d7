// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The parameters of a module without macros, strings or registration.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bora/core/parameter.h"
#include "bora/named/members.h"
#include "bora/named/named.h"
#include "bora/named/walk.h"

namespace bora {

/// The data members of a module, in order: `using fields = Fields<&Block::norm, &Block::attn>;`. The walk
/// enters modules, and std::vector, array, optional, unique_ptr, variant and map<std::string, ...> of modules
/// and of Named<...>; plain values are no parameters. Refused by the compiler: a member that stands twice or
/// not at all, and one that holds parameters which the walk cannot reach.
template <auto... Members>
  requires(each_member_is_listed_once<Members...> && every_parameter_can_be_walked<Members...> &&
           every_module_within_lists_its_members<Members...>)
struct Fields {
  static constexpr std::size_t count = sizeof...(Members);
  template <class M, class Visit>
  static void each(M& module, Visit&& visit) {
    (visit_one(module, visit, std::integral_constant<std::remove_const_t<decltype(Members)>, Members>{}),
     ...);
  }

 private:
  template <class M, class Visit, class T, T Member>
  static void visit_one(M& module, Visit& visit, std::integral_constant<T, Member> /*member*/) {
    if constexpr (!detail::is_buffer<T>) visit(detail::member_name<Member>(), module.*Member);
  }
};

/// Marks a tensor that is a table and no parameter: `Fields<&Model::weight, buffer<&Model::angles>>`. It is
/// not trained, saved or counted.
template <auto Member>
inline constexpr detail::Buffer<Member> buffer{};

namespace detail {

// Sentences for the compiler to say.
template <class M>
struct fields_must_name_every_data_member_of;
struct parameters_needs_a_model_that_is_not_const;

}  // namespace detail

/// Every parameter of a model, depth first in order of declaration. The references stay valid while the model
/// is not moved or resized. InvalidArgument, naming both, for two fields that share one array.
template <Module M>
std::vector<core::Parameter> parameters(M& model)
#if defined(__clang__)  // each compiler's way to point at the caller's line
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
    __attribute__((diagnose_if(!ListsEveryMember<M>, "`fields` must name every data member of the module",
                               "error"),
                   diagnose_if(std::is_const_v<M>, "parameters needs a model that is not const", "error")));
#pragma clang diagnostic pop
#else
    ;
template <Module M>
  requires(!ListsEveryMember<M>)
detail::fields_must_name_every_data_member_of<M> parameters(M& model) = delete;
template <Module M>
detail::parameters_needs_a_model_that_is_not_const parameters(const M& model) = delete;
#endif
template <Module M>
std::vector<core::Parameter> parameters(M& model) {
  return detail::walk(model, false);
}

/// Those that are not in a list of blocks (a module with elements_only, such as nn::Stacked).
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
