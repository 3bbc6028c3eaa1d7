// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Making optimizers of the types that a program has.
#pragma once
#include <memory>
#include <string>

#include "bora/optim/optimizer.h"
#include "bora/optim/optimizer_types.h"

namespace bora::optim {

/// Adds a type to those that `optimizer.type` may name: with this line every command has it. `T` is an
/// Optimizer with a Config, derived from OptimizerConfig, and a constructor (const Config&, parameters), as
/// in sgd.h.
template <class T>
void add_optimizer(const std::string& name, const std::string& help) {
  using Config = typename T::Config;
  const auto make = [](const AnyOptimizerConfig& config, std::span<const core::Parameter> parameters) {
    return std::make_unique<T>(config.as<Config>(), parameters);
  };
  optimizer_types().add(name, {help, Config(), make});
}

/// Config error, with the nearest name, for a type that was not added.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerChoice& choice,
                                          std::span<const core::Parameter> parameters);

}  // namespace bora::optim
