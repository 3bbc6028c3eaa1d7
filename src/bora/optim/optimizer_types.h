// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// The types that `optimizer.type` may name. add_optimizer.h adds one.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "bora/base/registry.h"
#include "bora/base/typed_config.h"
#include "bora/core/parameter.h"
#include "bora/optim/adam_config.h"
#include "bora/optim/config.h"

namespace bora::optim {

class Optimizer;

using AnyOptimizerConfig = AnyConfig<OptimizerConfig>;
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const AnyOptimizerConfig&,
                                                               std::span<const core::Parameter> parameters)>;

struct OptimizerType {
  std::string help;           ///< in a few words: "AdamW (Loshchilov and Hutter 2019)"
  AnyOptimizerConfig config;  ///< with default values
  MakeOptimizer make;         ///< null in a program that makes none
};

/// All types that this program has.
Registry<OptimizerType>& optimizer_types();

/// The `optimizer` block: `type` chooses the optimizer, and with it the struct of all other keys.
struct OptimizerChoice {
  std::string type = "adam";
  AnyOptimizerConfig config = AdamConfig();

  const OptimizerConfig* operator->() const { return config.operator->(); }
  OptimizerConfig* operator->() { return config.operator->(); }
  void bind(Binder& b);
};

}  // namespace bora::optim
