// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/run/hf_start.h"
#include "bora/run/join_workers.h"
#include "bora/run/open_model.h"
#include "bora/run/text_data.h"
#include "bora/run/train_run.h"
#include "bora/train/evaluate.h"

namespace bora::cli {

int run_eval(const Arguments& arguments) {
  std::string model_path, adapter;
  std::vector<std::string> configs;
  std::vector<std::pair<std::string, std::string>> overrides;
  std::int64_t max_batches = 0;
  Args args("eval",
            "Loss, perplexity and bits per byte of a model on each held-out data source of a configuration.",
            "  bora eval --model runs/brisk-otter-7 recipes/quickstart.yaml\n"
            "  bora launch -n 4 -- eval recipes/quickstart.yaml");
  args.positional("config", configs, "YAML files that name the data");
  args.option("--model", model_path,
              "a run, a checkpoint or a Hugging Face directory; default: the configuration's run");
  args.option("--adapter", adapter, "put this adapter on the model: a directory as PEFT writes it");
  args.option("--max_batches", max_batches, kNonNegative, "0: all held-out sequences");
  args.overrides(overrides);
  args.parse(arguments);
  auto loaded = run::load_run(configs, overrides);
  const auto launch = mesh::launch_environment();
  auto workers = run::join_workers(launch, loaded.config.trainer);
  auto place = run::run_place(loaded.config);
  auto opened = run::open_model(model_path.empty() ? place.directory : model_path, adapter);
  track::Console console(track::detect_console(launch.rank != 0, false));
  workers->deadline(run::kPatience);
  auto text = run::prepare_text(loaded.config, place, opened.model->shape().seq_len, console,
                                opened.tokenizer, run::text_team(*workers));
  if (max_batches > 0) loaded.config.trainer.max_eval_batches = max_batches;
  workers->barrier();
  workers->activity("evaluation");
  workers->deadline(loaded.config.trainer.worker_timeout);
  run::naming_bad_weights(
      opened, [&] { run::evaluate_sources(*opened.model, text, loaded.config, console, workers.get()); });
  workers->barrier();
  return 0;
}

}  // namespace bora::cli
