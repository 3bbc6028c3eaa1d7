// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/eval_arguments.h"

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/shell_words.h"
#include "bora/cli/args.h"
#include "bora/cli/device_flag.h"
#include "bora/cli/weights_flag.h"
#include "bora/report/run_summary.h"

namespace bora::cli {
namespace {

// The configuration that a run keeps: of the run itself, of one of its checkpoints, of its export.
std::vector<std::string> configuration_of(const std::string& model) {
  for (const auto& folder : {model, parent_path(model)}) {
    const auto config = path_join(folder, "config.yaml");
    if (exists(config) && exists(path_join(folder, "run.json"))) return {config};
  }
  if (const auto run = report::meant_run(model); !exists(model) && !run.empty())
    fail(ErrorKind::NotFound, "eval: {} does not exist; did you mean {}?\nhint: bora eval --model {}", model,
         run, shell_word(run));
  fail(
      ErrorKind::Usage,
      "eval: config is required, since {} is no run that has one\nhint: bora eval recipes/quickstart.yaml --model {}, "
      "with a YAML file that names your data",
      model, shell_word(model));
}

}  // namespace

EvalArguments parse_eval_arguments(const std::vector<std::string>& arguments) {
  EvalArguments out;
  Args args("eval",
            "Loss, perplexity and bits per byte of a model on each held-out data source of a configuration.",
            "  bora eval --model runs/brisk-otter-7\n"
            "  bora eval --model runs/brisk-otter-7 recipes/quickstart.yaml\n"
            "  bora launch -n 4 -- eval recipes/quickstart.yaml");
  args.positional("config", out.paths,
                  "YAML files that name the data; default: that of the run behind --model", false)
      .is_path();
  args.option("--model", out.model,
              "a run, a checkpoint or a Hugging Face directory; default: the configuration's run")
      .is_path();
  args.option("--adapter", out.adapter, "put this adapter on the model: a directory as PEFT writes it")
      .is_path();
  WeightsFlag weights;
  weights.declare(args,
                  "round the weights of linear maps as bora generate would keep them: f32, bf16 or int8");
  DeviceFlag device{""};
  device.declare(args, "; default: the configuration's trainer.device");
  args.option("--max_batches", out.max_batches, from_to(0, 0x7FFFFFFF), "0: all held-out sequences");
  args.flag("--json", out.json, "one JSON object a line");
  args.overrides(out.overrides);
  args.parse(arguments);
  if (out.paths.empty()) {
    if (out.model.empty()) fail(ErrorKind::Usage, "eval: config is required\nhint: bora eval --help");
    out.paths = configuration_of(out.model);
  }
  out.weights = weights.type("eval");
  if (!device.word.empty()) out.overrides.emplace_back("trainer.device", device.word);
  return out;
}

}  // namespace bora::cli
