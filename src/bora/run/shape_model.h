// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "bora/base/json.h"
#include "bora/models/model_config.h"
#include "bora/nn/language_model_interface.h"
#include "bora/optim/optimizer.h"
#include "bora/run/adapters.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Calls `use` with the model of a run, adapters and all, of which the parameters have shapes and no values.
/// Config errors: those of choose_trained.
void with_shape_model(const LmConfig& config, std::int64_t vocab,
                      const std::function<void(nn::LanguageModel&)>& use);

/// What config.json says of a model of this configuration, in the words of Hugging Face.
Json described(const models::ModelConfig& config, std::int64_t vocab);

/// The optimizer of a run for such a model, within `use`: its state has shapes and no values either.
std::unique_ptr<optim::Optimizer> shape_optimizer(const LmConfig& config, nn::LanguageModel& model);

/// optim::describe_decay of its parameters. Nothing for a model of more layers than anybody's.
std::string describe_decay(const LmConfig& config, std::int64_t vocab);

double bytes_of(const optim::NamedArray& state);

/// Axes of its parameters, each once, in alphabetical order. Config errors as above; none for a model of more layers than
/// anybody's.
std::set<std::string, std::less<>> axes_of_parameters(const LmConfig& config, std::int64_t vocab);

/// Bytes of its state. Nothing for a model of more layers than anybody's, which is not made to be counted.
std::optional<double> bytes_of_state(const LmConfig& config, std::int64_t vocab);

/// From the model's configuration where all of it is trained, and where it has more layers than anybody's; else from its
/// shapes. Config errors as above.
ParameterCounts count_parameters(const LmConfig& config, std::int64_t vocab);

}  // namespace bora::run
