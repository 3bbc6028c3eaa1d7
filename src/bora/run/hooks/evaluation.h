// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <vector>

#include "bora/run/session.h"

namespace bora::run {

/// Loss of each held-out set, shown as a table. Collective.
std::vector<track::Metric> evaluate(Session& session);

/// Evaluates every trainer.steps_per_eval steps, but not after the last one: the end of the run does.
class Evaluation final : public Hook {
 public:
  explicit Evaluation(Session& session) : session_(session) {}
  void after_step(const train::StepResult& result) override;

 private:
  Session& session_;
};

}  // namespace bora::run
