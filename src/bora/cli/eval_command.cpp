// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/json.h"
#include "bora/cli/commands.h"
#include "bora/cli/eval_arguments.h"
#include "bora/nn/stored_weights.h"
#include "bora/run/hf_start.h"
#include "bora/run/hub_name.h"
#include "bora/run/join_workers.h"
#include "bora/run/open_model.h"
#include "bora/run/run_device.h"
#include "bora/run/text_data.h"
#include "bora/run/train_run.h"
#include "bora/train/evaluate.h"

namespace bora::cli {
namespace {

// All numbers as they are, beside the table's.
void print_metrics(const std::string& model, const std::vector<track::Metric>& metrics) {
  Json line = {{"event", "evaluation"}, {"model", model}};
  for (const auto& metric : metrics) line["metrics"][metric.name] = metric.value;
  fmt::print("{}\n", line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int run_eval(const Arguments& arguments) {
  const auto given = parse_eval_arguments(arguments);
  auto loaded = run::load_run(given.paths, given.overrides);
  run::require_held_out(loaded);
  const auto launch = mesh::launch_environment();
  const run::RunDevice device("trainer.device", loaded.config.trainer.device, launch);
  auto workers = run::join_workers(launch, loaded.config.trainer);
  run::agree_on_hub(loaded.config.data, *workers);
  auto place = run::run_place(loaded.config);
  auto opened = run::open_model(given.model.empty() ? place.directory : given.model, given.adapter);
  nn::round_weights(*opened.model, given.weights);
  track::Console console(track::detect_console(launch.rank != 0, given.json));
  console.fact("model", opened.directory + (given.model.empty() ? ", of the configuration's run" : ""));
  workers->deadline(run::kPatience);
  auto text = run::prepare_text(loaded.config, place, run::sequences_of(opened.model->shape()), console,
                                opened.tokenizer, run::text_team(*workers));
  if (given.max_batches > 0) loaded.config.trainer.max_eval_batches = given.max_batches;
  workers->barrier();
  workers->activity("evaluation");
  workers->deadline(loaded.config.trainer.worker_timeout);
  std::vector<track::Metric> metrics;
  run::naming_bad_weights(opened, [&] {
    metrics = run::evaluate_sources(*opened.model, text, loaded.config, console, workers.get());
  });
  if (given.json && launch.rank == 0) print_metrics(opened.directory, metrics);
  workers->barrier();
  return 0;
}

}  // namespace bora::cli
