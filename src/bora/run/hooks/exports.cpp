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
    save_peft(*model, directory, session.base_of_adapters(), dtype, whole);
  });
}

void Exports::after_step(const train::StepResult& result) {
  if (is_due(result.step + 1)) write(result.step + 1);
}

void Exports::end(train::Outcome outcome) {
  const auto last = session_.config().trainer.num_train_steps;
  if (outcome == train::Outcome::finished && !is_due(last)) write(last);
}

void Exports::write(std::int64_t done) {
  const auto& exports = session_.place().exports;
  const auto& adapters = session_.place().adapters;
  if (!exports && !adapters) return;
  session_.workers().deadline(kPatience);  // of a disk
  if (const auto why = why_no_export(session_.model()->hf_config()); exports && !why.empty())
    session_.console().line("no Hugging Face export: " + why);
  else if (exports)
    export_model(session_, fmt::format("{}/step-{}", *exports, done));
  if (adapters) export_adapter(session_, fmt::format("{}/step-{}", *adapters, done));
  session_.meet_for_training();
}

}  // namespace bora::run
