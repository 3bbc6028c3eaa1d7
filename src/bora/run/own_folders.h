// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// Whether the folders that a start writes into are its own: not the user's texts, and not beside a run that was moved.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bora/base/config.h"
#include "bora/run/lm_config.h"
#include "bora/run/run_place.h"

namespace bora::run {

/// Where the configuration is the record of a run, and names another folder than the one that it lies in: it was moved
/// or copied, or is started from elsewhere, and would begin anew in silence.
std::optional<ConfigProblem> moved_run(const LoadedConfig& loaded, const RunPlace& place);

/// Exports and checkpoints are called step-N, each kind in a folder of its own: the keys that name a run's folder for
/// exports, this run's or another's, or the same one twice.
std::vector<ConfigProblem> exports_among_steps(const LmConfig& config, const RunPlace& place);

/// A path without links, and without a last slash; also of what is not there yet.
std::string real_place(const std::string& path);

/// What a folder for a run holds that no run has; "" where there is none, it is empty, or a run's.
std::string why_no_run(const std::string& directory);

/// The same of a folder for token caches: texts, or a run.
std::string why_no_caches(const std::string& directory);

}  // namespace bora::run
