// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/run/flags.h"
#include "bora/run/lm_config.h"
#include "bora/run/run_lanes.h"
#include "bora/run/sharding_plan.h"
#include "bora/run/train_run.h"
#include "bora/track/console.h"

namespace bora::run {

/// Prints the resolved configuration, the number of parameters, a memory estimate, tokens per step, and what
/// would be written where; with flags.world above 0, what each of so many workers would hold and receive.
/// Starts nothing.
int print_dry_run(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags,
                  track::Console& console);

/// The sharding of a configuration's model over so many workers; `recorded`: of an earlier start of its run.
ShardingPlan plan_of(const LmConfig& config, std::int64_t workers, const RecordedLanes& recorded = {});

}  // namespace bora::run
