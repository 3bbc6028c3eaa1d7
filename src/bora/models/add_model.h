// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Making models of the types that a program has.
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "bora/models/model_types.h"
#include "bora/nn/language_model.h"

namespace bora::models {

template <class Model>
concept HasConfig = requires { typename Model::Config; };
template <class Model>
concept HasInit = requires(const typename Model::Config& config, Dim<nn::VocabAxis<Model>> vocab, Key key) {
  { Model::init(config, vocab, key) } -> std::same_as<Model>;
};

/// Adds a type to those that `model.type` may name: with this line every command has it. `Model` is what
/// nn::LanguageModelOf asks for, and has a Config and an init(config, Dim<Vocab>, key), as in llama.h.
template <nn::CompleteModel Model>
  requires HasConfig<Model> && HasInit<Model>
void add_model(std::string name, std::string help) {
  using Config = typename Model::Config;
  add_type<Config>(std::move(name), std::move(help),
                   [](const ModelConfig& config, std::int64_t vocab_size, Key key) {
                     const auto& own = dynamic_cast<const ModelConfigOf<Config>&>(config).config;
                     return nn::erase_type(Model::init(own, Dim<nn::VocabAxis<Model>>{vocab_size}, key));
                   });
}

// Of a type that is no complete model: what it lacks.
template <nn::Lacks<nn::ModelPart::fields> Model>
__attribute__((unavailable("the model needs `fields`: using fields = Fields<&Model::embed, ...>"))) void
add_model(std::string name, std::string help);
template <nn::Lacks<nn::ModelPart::axes> Model>
__attribute__((
    unavailable("the model needs BatchAxis, PosAxis and EmbedAxis: what its axes are called"))) void
add_model(std::string name, std::string help);
template <nn::Lacks<nn::ModelPart::call> Model>
__attribute__((
    unavailable("the model needs operator()(const Indices<Batch, Pos>&, const nn::Context&) const"))) void
add_model(std::string name, std::string help);
template <nn::Lacks<nn::ModelPart::hidden> Model, class Returned = nn::detail::HiddenOf<Model>>
__attribute__((unavailable(
    "operator() must return hidden states [batch, position, embed]: the loss applies head() itself"))) void
add_model(std::string name, std::string help);
template <nn::Lacks<nn::ModelPart::head> Model>
__attribute__((
    unavailable("the model needs head(): a const reference to the matrix [vocab, embed] that it holds"))) void
add_model(std::string name, std::string help);
template <nn::Lacks<nn::ModelPart::head_axes> Model>
__attribute__((unavailable(
    "head() must be [vocab, embed] and return what the model holds: its type is that of the member"))) void
add_model(std::string name, std::string help);
template <nn::Lacks<nn::ModelPart::shape> Model>
__attribute__((unavailable("the model needs shape(): what sizes it has"))) void add_model(std::string name,
                                                                                          std::string help);
template <nn::Lacks<nn::ModelPart::hf_config> Model>
__attribute__((unavailable("the model needs hf_config(): the config.json of its exports"))) void add_model(
    std::string name, std::string help);
template <nn::CompleteModel Model>
  requires(!HasConfig<Model>)
__attribute__((
    unavailable("the model needs a type Config: what `model:` may say, with bind, shape and "
                "to_hf"))) void
add_model(std::string name, std::string help);
template <nn::CompleteModel Model>
  requires(HasConfig<Model> && !HasInit<Model>)
__attribute__((
    unavailable("the model needs static Model init(const Config&, Dim<Vocab>, Key): new "
                "weights"))) void
add_model(std::string name, std::string help);

/// A new model with weights drawn by the key. Config error where its parameters cannot be counted.
std::unique_ptr<nn::LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, Key key);

}  // namespace bora::models
