// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/track/console.h"
#include "lm_config.h"
#include "train_run.h"

namespace bora::app {

/// Prints the resolved configuration, the number of parameters, a memory estimate, tokens per step, and what
/// would be written where. Starts nothing.
int print_dry_run(const LoadedConfig& loaded, const RunPlace& place, track::Console& console);

}  // namespace bora::app
