// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include "bora/run/finish_run.h"
#include "bora/run/session.h"

namespace bora::run {

/// The numbers of each step: to the trackers, and as the line that a person watches.
class Progress final : public Hook {
 public:
  explicit Progress(Session& session) : session_(session) {}
  void after_step(const train::StepResult& result) override;

  RunTimes times() const;

 private:
  void log(const train::StepResult& result);
  void show(const train::StepResult& result);
  void tell_of_empty_batch(std::int64_t step) const;

  Session& session_;
  std::int64_t tokens_ = 0;
  double first_step_seconds_ = 0, loading_ = 0, stepping_ = 0;
};

}  // namespace bora::run
