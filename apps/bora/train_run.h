// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// A training run from configuration to summary: what `bora train` does after reading its files.
#pragma once
#include "bora/track/console.h"
#include "lm_config.h"
#include "run_place.h"
#include "train_arguments.h"

namespace bora::app {

/// Exit code: 0 finished, 75 stopped early and resumable.
int run_training(const LoadedConfig& loaded, const RunFlags& flags);

}  // namespace bora::app
