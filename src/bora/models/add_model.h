// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Making models of the types that a program has.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "bora/models/model_types.h"
#include "bora/nn/language_model.h"

namespace bora::models {

/// Adds a type to those that `model.type` may name: with this line every command has it. `Model` is what
/// nn::LanguageModelOf asks for, and has a Config and an init(config, Dim<Vocab>, key), as in llama.h.
template <class Model>
void add_model(std::string name, std::string help) {
  using Config = typename Model::Config;
  add_type<Config>(std::move(name), std::move(help),
                   [](const ModelConfig& config, std::int64_t vocab_size, Key key) {
                     const auto& own = dynamic_cast<const ModelConfigOf<Config>&>(config).config;
                     return nn::erase_type(Model::init(own, Dim<nn::VocabAxis<Model>>{vocab_size}, key));
                   });
}

/// A new model with weights drawn by the key. Config error where its parameters cannot be counted.
std::unique_ptr<nn::LanguageModel> make_model(const ModelConfig& config, std::int64_t vocab_size, Key key);

}  // namespace bora::models
