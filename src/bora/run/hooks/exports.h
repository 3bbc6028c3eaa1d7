// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>

#include "bora/run/session.h"

namespace bora::run {

/// Writes the model as it is now in the Hugging Face layout, adapters merged into it. NonFinite where a parameter is not finite.
/// Collective.
void export_model(Session& session, const std::string& directory);

/// Writes its adapters as PEFT does. Likewise.
void export_adapter(Session& session, const std::string& directory);

/// Exports every hf_save_steps steps, and at the end of the run, into step-N of the run's places for exports and
/// adapters.
class Exports final : public Hook {
 public:
  explicit Exports(Session& session) : session_(session) {}
  void after_step(const train::StepResult& result) override;
  void end(train::Outcome outcome) override;

 private:
  bool is_due(std::int64_t done) const { return done % session_.config().hf_save_steps == 0; }
  void write(std::int64_t done);

  Session& session_;
};

}  // namespace bora::run
