// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/base/json.h"
#include "bora/optim/config.h"
#include "bora/optim/rolling_window.h"

namespace bora::optim {

/// Tells bad steps: those whose loss or gradient norm is above mean + sigma_factor · deviation of the last
/// rolling_interval_length steps, once max(2, half of them) are known. A loss or norm that is not finite is
/// bad at any time. A skipped step leaves parameters and optimizer state as they are; the step counter
/// advances. The values of a skipped step are recorded too, so that a lasting change of level is accepted
/// after a while. (OLMo; Levanter's skip_bad_steps.)
class SkipStep {
 public:
  explicit SkipStep(const SkipStepConfig& config);

  /// Whether to skip the step with this mean loss and this global gradient norm (before clipping); records
  /// both.
  bool should_skip(double loss, double gradient_norm);

  std::int64_t skipped() const { return skipped_; }  ///< steps skipped so far

  /// For a checkpoint's state.json. Loading null (a checkpoint of a run without skip-step) begins anew;
  /// Corruption for what cannot be after so many `steps`.
  Json save_state() const;
  void load_state(const Json& state, std::int64_t steps);

 private:
  SkipStepConfig config_;
  RollingWindow losses_, norms_;
  std::int64_t skipped_ = 0;
};

}  // namespace bora::optim
