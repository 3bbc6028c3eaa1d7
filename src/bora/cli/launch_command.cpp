// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/cli/launch_command.h"

#include "bora/base/error.h"
#include "bora/base/output.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/eval_arguments.h"
#include "bora/cli/train_arguments.h"
#include "bora/run/hf_start.h"
#include "bora/run/run_place.h"

namespace bora::cli {
namespace {

void check(const run::LaunchArguments& a) {
  if (a.workers_on_restart > 0 && a.restarts == 0)
    fail(ErrorKind::Usage, "launch: --workers-on-restart is {} but --restarts is 0\nhint: --restarts 3",
         a.workers_on_restart);
  if (a.command.empty() || (a.command[0] != "train" && a.command[0] != "eval"))
    fail(ErrorKind::Usage,
         "launch: {} cannot run as several workers, only train and eval can{}\nhint: bora launch -n "
         "{} -- train my.yaml",
         a.command.empty() ? "nothing" : a.command[0],
         a.command.empty() ? "" : did_you_mean(a.command[0], std::vector<std::string>{"train", "eval"}),
         a.workers);
}

}  // namespace

run::LaunchArguments parse_launch_arguments(const std::vector<std::string>& arguments) {
  run::LaunchArguments a;
  Args args("launch",
            "Train with several workers: starts them with mpirun, passes signals on so that they stop with a "
            "checkpoint, and starts them again when one is lost.",
            "  bora launch -n 4 -- train my.yaml\n"
            "  bora launch -n 4 --restarts 10 --workers-on-restart 3 -- train my.yaml\n"
            "  bora launch -n 8 --hosts a:4,b:4 -- train my.yaml\n"
            "  bora launch -n 4 -- eval --model runs/mine my.yaml");
  args.option("-n,--workers", a.workers, kWorkers, "number of workers", true);
  args.option("--threads", a.threads, kThreads, "of each worker; 0: the cores divided among them");
  args.option("--restarts", a.restarts, kNonNegative, "times to start again after a lost worker");
  args.option("--workers-on-restart", a.workers_on_restart, Range{.least = 0, .most = kWorkers.most},
              "number of workers then; 0: as before");
  args.option("--hosts", a.hosts, "machines and their numbers of workers: a:4,b:4; default: this one");
  args.flag("--no-pin", a.no_pin, "do not tie workers to cores");
  args.flag("--verbose", a.verbose, "mpirun's own messages too");
  args.positional("command", a.command, "after --: train or eval, its files and flags");
  args.hint_at_flags(
      "bora launch -n 2 -- train my.yaml --trainer.seed=1: flags of what is started stand behind --");
  args.parse(arguments);
  check(a);
  return a;
}

// Mistakes in the command and its configuration are told once, not by each worker.
int run_launch(const Arguments& arguments) {
  auto launch = parse_launch_arguments(arguments);
  const Arguments rest(launch.command.begin() + 1, launch.command.end());
  if (launch.command[0] == "eval") {
    const auto eval = parse_eval_arguments(rest);
    run::load_run(eval.paths, eval.overrides);
    outlive_readers();
    return run::launch(std::move(launch), eval.json);
  }
  const auto train = parse_train_arguments(rest);
  auto loaded = run::load_run(train.paths, train.overrides, run::MissingModel::Recorded);
  outlive_readers();
  const auto place = run::place_or_problem(loaded);
  continue_output_in(place.log());
  launch.run_directory = place.directory;
  return run::launch(std::move(launch), train.flags.quiet || train.flags.json);
}

}  // namespace bora::cli
