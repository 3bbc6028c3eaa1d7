// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>

#include "bora/run/session.h"

namespace bora::run {

/// Writes the model as it is now in the Hugging Face layout, adapters merged into it. NonFinite where a parameter is not finite.
/// Collective.
void export_model(Session& session, const std::string& directory);

/// Writes its adapters as PEFT does. Likewise.
void export_adapter(Session& session, const std::string& directory);

/// Exports every hf_save_steps steps into hf_save_path/step-N, and adapters into peft_save_path/step-N.
class Exports final : public Hook {
 public:
  explicit Exports(Session& session) : session_(session) {}
  void after_step(const train::StepResult& result) override;

 private:
  Session& session_;
};

}  // namespace bora::run
