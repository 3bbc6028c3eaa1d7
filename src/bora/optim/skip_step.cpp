// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/optim/skip_step.h"

#include <algorithm>
#include <cmath>

#include "bora/base/error.h"

namespace bora::optim {

SkipStep::SkipStep(const SkipStepConfig& config)
    : config_(config), losses_(config.rolling_interval_length), norms_(config.rolling_interval_length) {}

bool SkipStep::should_skip(double loss, double gradient_norm) {
  const auto needed =
      static_cast<std::size_t>(std::max<std::int64_t>(2, config_.rolling_interval_length / 2));
  const auto stands_out = [&](const RollingWindow& window, double value) {
    return !std::isfinite(value) || (window.count() >= needed && value > window.bound(config_.sigma_factor));
  };
  const bool skip = stands_out(losses_, loss) || stands_out(norms_, gradient_norm);
  losses_.record(loss);
  norms_.record(gradient_norm);
  skipped_ += skip;
  return skip;
}

Json SkipStep::save_state() const {
  return Json{{"losses", losses_.save()}, {"gradient_norms", norms_.save()}, {"skipped", skipped_}};
}

void SkipStep::load_state(const Json& state, std::int64_t steps) {
  *this = SkipStep(config_);
  if (state.is_null()) return;
  skipped_ = json_get<std::int64_t>(state, "skipped", "skip_step");
  if (skipped_ < 0 || skipped_ > steps)
    fail(ErrorKind::Corruption, "skip_step.skipped is {} after {} steps", skipped_, steps);
  losses_.load(state.value("losses", Json()), "skip_step.losses", steps);
  norms_.load(state.value("gradient_norms", Json()), "skip_step.gradient_norms", steps);
}

}  // namespace bora::optim
