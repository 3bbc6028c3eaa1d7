// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// How long a run will compute here, before it begins.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "bora/run/preflight.h"

namespace bora::run {

struct TimeEstimate {
  double seconds =
      0;  ///< of the steps that are left; without evaluation, checkpoints and making token caches
  std::int64_t steps = 0;
  bool is_timed = false;  ///< by steps of the model itself; false: by the rate of matrix products
};

/// In two seconds or so: steps of the model with a few random sequences on this machine, or, where that would take long
/// or much memory, its work at the usual share of the rate that matrix products reach here. Nothing for what is computed
/// elsewhere, for models of speech, and where no step is left. Dropout is left out.
std::optional<TimeEstimate> estimate_time(const LmConfig& config, const Preflight& found);

/// "about 12:30 for the 9,000 steps left, by steps timed here".
std::string shown(const TimeEstimate& estimate);

}  // namespace bora::run
