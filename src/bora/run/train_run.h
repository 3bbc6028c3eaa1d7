// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A training run from configuration to summary: what `bora train` does after reading its files.
#pragma once
#include "bora/run/flags.h"
#include "bora/run/lm_config.h"
#include "bora/run/run_place.h"
#include "bora/track/console.h"

namespace bora::run {

/// Exit code: 0 finished, 75 stopped early and resumable.
int run_training(const LoadedConfig& loaded, const RunFlags& flags);

}  // namespace bora::run
