// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/eval_arguments.h"

#include "bora/cli/args.h"
#include "bora/cli/device_flag.h"
#include "bora/cli/weights_flag.h"

namespace bora::cli {

EvalArguments parse_eval_arguments(const std::vector<std::string>& arguments) {
  EvalArguments out;
  Args args("eval",
            "Loss, perplexity and bits per byte of a model on each held-out data source of a configuration.",
            "  bora eval --model runs/brisk-otter-7 recipes/quickstart.yaml\n"
            "  bora launch -n 4 -- eval recipes/quickstart.yaml");
  args.positional("config", out.paths, "YAML files that name the data").is_path();
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
  args.option("--max_batches", out.max_batches, kNonNegative, "0: all held-out sequences");
  args.flag("--json", out.json, "one JSON object a line");
  args.overrides(out.overrides);
  args.parse(arguments);
  out.weights = weights.type("eval");
  if (!device.word.empty()) out.overrides.emplace_back("trainer.device", device.word);
  return out;
}

}  // namespace bora::cli
