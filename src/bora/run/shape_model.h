// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <functional>

#include "bora/nn/language_model_interface.h"
#include "bora/run/adapters.h"
#include "bora/run/lm_config.h"

namespace bora::run {

/// Calls `use` with the model of a run, adapters and all, of which the parameters have shapes and no values.
/// Config errors: those of choose_trained.
void with_shape_model(const LmConfig& config, std::int64_t vocab,
                      const std::function<void(nn::LanguageModel&)>& use);

/// From the model's configuration where all of it is trained, else from its shapes. Config errors as above.
ParameterCounts count_parameters(const LmConfig& config, std::int64_t vocab);

}  // namespace bora::run
