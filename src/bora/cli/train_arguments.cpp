// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/train_arguments.h"

#include "bora/base/error.h"
#include "bora/cli/args.h"

namespace bora::cli {

TrainArguments parse_train_arguments(const std::vector<std::string>& arguments) {
  TrainArguments out;
  std::string config_path;
  Args args(
      "train",
      "Train a model as configuration files say; later files and --key.key=value override earlier ones.",
      "  bora train recipes/quickstart.yaml\n"
      "  bora train recipes/quickstart.yaml --data.train_urls='[\"my/*.txt\"]' --fresh\n"
      "  bora train base.yaml more.yaml --trainer.train_batch_size=16 --dry_run\n"
      "  bora train big.yaml --dry_run --world 128");
  args.positional("config", out.paths, "YAML files", false).is_path();
  args.option("--config_path", config_path, "a YAML file, as in Levanter").is_path();
  args.flag("--dry_run", out.flags.dry_run, "say what a start would do, need and lack; start nothing");
  args.flag("--print_config", out.flags.print_config,
            "print the configuration with every default filled in; start nothing");
  args.flag(
      "--accept_changes", out.flags.accept_changes,
      "go on with a run although keys changed that decide the order of its data, or begin with weights of another "
      "tokenizer");
  args.option("--world", out.flags.world, kWorkers, "with --dry_run: memory and traffic of so many workers");
  args.flag("--fresh", out.flags.fresh, "put an earlier run of the same name aside and start over");
  args.flag("--quiet", out.flags.quiet, "no output but warnings");
  args.flag("--json", out.flags.json, "one JSON object a line");
  args.overrides(out.overrides);
  args.parse(arguments);
  if (out.flags.world != 0 && !out.flags.dry_run) {
    fail(ErrorKind::Usage,
         "train: --world {} goes with --dry_run alone\nhint: bora launch -n {} -- train ... starts workers",
         out.flags.world, out.flags.world);
  }
  if (!config_path.empty()) out.paths.push_back(config_path);
  if (out.paths.empty())
    fail(ErrorKind::Usage, "train: no configuration\nhint: bora train recipes/quickstart.yaml");
  return out;
}

}  // namespace bora::cli
