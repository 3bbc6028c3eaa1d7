// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "args.h"
#include "bora/base/error.h"
#include "commands.h"
#include "lm_config.h"
#include "train_run.h"

namespace bora::app {

int run_train(const Arguments& arguments) {
  std::vector<std::string> paths;
  std::string config_path;
  std::vector<std::pair<std::string, std::string>> overrides;
  RunFlags flags;
  Args args(
      "train",
      "Train a model as configuration files say; later files and --key.key=value override earlier ones.",
      "  bora train recipes/quickstart.yaml\n"
      "  bora train recipes/quickstart.yaml --data.train_urls='[\"my/*.txt\"]' --fresh\n"
      "  bora train base.yaml more.yaml --trainer.train_batch_size=16 --dry_run");
  args.positional("config", paths, "YAML files", false);
  args.option("--config_path", config_path, "a YAML file, as in Levanter");
  args.flag("--dry_run", flags.dry_run, "print what would happen; start nothing");
  args.flag("--fresh", flags.fresh, "put an earlier run of the same name aside and start over");
  args.flag("--quiet", flags.quiet, "no output but warnings");
  args.flag("--json", flags.json, "one JSON object a line");
  args.overrides(overrides);
  args.parse(arguments);
  if (!config_path.empty()) paths.push_back(config_path);
  if (paths.empty())
    fail(ErrorKind::Usage, "train: no configuration\nhint: bora train recipes/quickstart.yaml");
  return run_training(load_config(paths, overrides), flags);
}

}  // namespace bora::app
