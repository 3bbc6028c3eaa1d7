// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/run/hooks/exports.h"

#include <fmt/core.h>

#include "bora/run/generation_config.h"
#include "bora/run/join_workers.h"
#include "bora/run/models.h"
#include "bora/run/no_export.h"
#include "bora/run/peft.h"

namespace bora::run {

void export_model(Session& session, const std::string& directory) {
  session.trainer().require_finite_parameters();
  auto& model = session.model();
  const auto& tokenizer = session.text().tokenizer;
  const auto dtype = core::parse_dtype(session.config().hf_save_dtype);
  model.lend_values([&](const WholeValues& whole) {
    export_hugging_face(*model, tokenizer,
                        generation_of(session.place().directory, tokenizer, model->shape().vocab), directory,
                        dtype, whole);
  });
}

void export_adapter(Session& session, const std::string& directory) {
  session.trainer().require_finite_parameters();
  auto& model = session.model();
  const auto dtype = core::parse_dtype(session.config().hf_save_dtype);
  model.lend_values([&](const WholeValues& whole) {
    save_peft(*model, directory, model_to_start_from(session.config()), dtype, whole);
  });
}

void Exports::after_step(const train::StepResult& result) {
  const auto& config = session_.config();
  const auto done = result.step + 1;
  if (done % config.hf_save_steps != 0 || !(config.hf_save_path || config.peft_save_path)) return;
  session_.workers().deadline(kPatience);  // of a disk
  if (const auto why = why_no_export(session_.model()->hf_config()); config.hf_save_path && !why.empty())
    session_.console().line("no Hugging Face export: " + why);
  else if (config.hf_save_path)
    export_model(session_, fmt::format("{}/step-{}", *config.hf_save_path, done));
  if (config.peft_save_path)
    export_adapter(session_, fmt::format("{}/step-{}", *config.peft_save_path, done));
  session_.meet_for_training();
}

}  // namespace bora::run
