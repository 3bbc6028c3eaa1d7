// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Where the data of a run is read up before its last step.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "bora/run/lm_config.h"

namespace bora::run {

/// Steps that read all of the training data, from its token caches; nothing where the steps asked for do not come to its
/// end, or where a cache is still to be made.
std::optional<std::int64_t> steps_of_data(const LmConfig& config);

/// "1016 instead of 50000: the data is read up then".
std::string fewer_steps(std::int64_t steps, std::int64_t asked);

}  // namespace bora::run
