// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hooks/evaluation.h"

#include "bora/base/trace.h"

namespace bora::run {

std::vector<track::Metric> evaluate(Session& session) {
  return evaluate_sources(*session.model(), session.text(), session.config(), session.console(),
                          session.model().mesh().lanes().get());
}

void Evaluation::after_step(const train::StepResult& result) {
  const auto& t = session_.config().trainer;
  const auto done = result.step + 1;
  if (t.steps_per_eval <= 0 || done % t.steps_per_eval != 0 || done >= t.num_train_steps) return;
  const trace::Span span("evaluation");
  session_.growing().wait_for_all();
  session_.tracker().log(result.step, evaluate(session_));
}

}  // namespace bora::run
