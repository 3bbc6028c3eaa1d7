// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// What a type must offer to be a language model, and the sentence that the compiler says for each part that
// it lacks.
#pragma once
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "bora/base/json.h"
#include "bora/named/fields.h"
#include "bora/nn/context.h"
#include "bora/nn/model_shape.h"

namespace bora::nn {

class LanguageModel;

/// Parts of a model, in the order in which they are looked for.
enum class ModelPart { none, fields, axes, call, hidden, head, head_axes, shape, hf_config };

namespace detail {
template <class M>
concept NamesItsAxes =
    Axis<typename M::BatchAxis> && Axis<typename M::PosAxis> && Axis<typename M::EmbedAxis>;
template <class M>
using HiddenOf = decltype(std::declval<const M&>()(
    std::declval<const Indices<typename M::BatchAxis, typename M::PosAxis>&>(),
    std::declval<const Context&>()));
template <class M>
concept TakesIds = requires { typename HiddenOf<M>; };
template <class M>
concept GivesHiddenStates =
    SameAxes<HiddenOf<M>, Named<typename M::BatchAxis, typename M::PosAxis, typename M::EmbedAxis>>;
template <class M>
concept HasHead = requires(const M& m) {
  { m.head() } -> NamedTensor;
};
// The rows are the vocabulary's. Another order would be a converted copy, gone when head() returns.
template <class Head, class Embed>
inline constexpr bool is_head = false;
template <class Vocab, class Embed>
inline constexpr bool is_head<const Named<Vocab, Embed>&, Embed> = true;
template <class M>
concept HasHeadAxes = is_head<decltype(std::declval<const M&>().head()), typename M::EmbedAxis>;
template <class M>
concept HasShape = requires(const M& m) {
  { m.shape() } -> std::convertible_to<ModelShape>;
};
template <class M>
concept HasHfConfig = requires(const M& m) {
  { m.hf_config() } -> std::convertible_to<Json>;
};

// What needs an earlier part is not asked without it.
template <class M>
consteval ModelPart first_missing_part() {
  if constexpr (!Module<M>)
    return ModelPart::fields;
  else if constexpr (!NamesItsAxes<M>)
    return ModelPart::axes;
  else if constexpr (!TakesIds<M>)
    return ModelPart::call;
  else if constexpr (!GivesHiddenStates<M>)
    return ModelPart::hidden;
  else if constexpr (!HasHead<M>)
    return ModelPart::head;
  else if constexpr (!HasHeadAxes<M>)
    return ModelPart::head_axes;
  else if constexpr (!HasShape<M>)
    return ModelPart::shape;
  else if constexpr (!HasHfConfig<M>)
    return ModelPart::hf_config;
  else
    return ModelPart::none;
}
}  // namespace detail

template <class M>
inline constexpr ModelPart missing_part = detail::first_missing_part<std::remove_cvref_t<M>>();
template <class M, ModelPart part>
concept Lacks = missing_part<M> == part;
/// A type that nn::erase_type and models::add_model make a language model of; models/llama.h is one.
template <class M>
concept CompleteModel = Lacks<M, ModelPart::none>;

// erase_type (language_model.h) of a type that is none says what it lacks.

template <Lacks<ModelPart::fields> M>
__attribute__((unavailable(
    "the model needs `fields`: using fields = Fields<&Model::embed, ...>"))) std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::axes> M>
__attribute__((unavailable("the model needs BatchAxis, PosAxis and EmbedAxis: what its axes are called")))
std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::call> M>
__attribute__((
    unavailable("the model needs operator()(const Indices<Batch, Pos>&, const nn::Context&) const")))
std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::hidden> M, class Returned = detail::HiddenOf<M>>
__attribute__((unavailable(
    "operator() must return hidden states [batch, position, embed]: the loss applies head() itself")))
std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::head> M>
__attribute__((
    unavailable("the model needs head(): a const reference to the matrix [vocab, embed] that it holds")))
std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::head_axes> M>
__attribute__((unavailable(
    "head() must be [vocab, embed] and return what the model holds: its type is that of the member")))
std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::shape> M>
__attribute__((unavailable("the model needs shape(): what sizes it has"))) std::unique_ptr<LanguageModel>
erase_type(M model);
template <Lacks<ModelPart::hf_config> M>
__attribute__((unavailable(
    "the model needs hf_config(): the config.json of its exports"))) std::unique_ptr<LanguageModel>
erase_type(M model);

}  // namespace bora::nn
