// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/run/flags.h"
#include "bora/run/lm_config.h"
#include "bora/run/preflight.h"
#include "bora/run/run_lanes.h"
#include "bora/run/sharding_plan.h"
#include "bora/run/train_run.h"
#include "bora/track/console.h"

namespace bora::run {

/// Prints what a start would do, need and find: data, model, tokens per step, memory, disk, what would be
/// written where, and where the run goes on; with flags.world above 0, what each of so many workers would hold
/// and receive; with flags.print_config the resolved configuration too. Starts nothing. Config error with all
/// that a start would fail of.
int print_dry_run(const LoadedConfig& loaded, const RunPlace& place, const RunFlags& flags,
                  const Preflight& found, track::Console& console);

/// Keys that are understood and have no effect, a line each: of dry runs and of others.
void show_ineffective_keys(const LoadedConfig& loaded, track::Console& console);
/// What a run that goes on has otherwise than before.
void show_changes(const Preflight& found, track::Console& console);
/// What may go wrong, a line each.
void show_warnings(const Preflight& found, track::Console& console);

/// The sharding of a configuration's model over so many workers; `recorded`: of an earlier start of its run.
ShardingPlan plan_of(const LmConfig& config, std::int64_t workers, const RecordedLanes& recorded = {});

}  // namespace bora::run
