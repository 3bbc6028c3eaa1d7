// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/train/trainer.h"

namespace bora::run {

/// What a run does beside training; a file of run/hooks each. All ranks call the same functions at the same
/// places, so they may be collective. `begin` and `after_step` are called in the order in which the hooks
/// stand, `end` in the opposite one.
class Hook {
 public:
  virtual ~Hook() = default;
  /// Before the first step of this start.
  virtual void begin() {}
  virtual void after_step(const train::StepResult& /*result*/) {}
  /// After the last step of this start.
  virtual void end(train::Outcome /*outcome*/) {}
};

}  // namespace bora::run
