// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/shell_words.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/report/run_summary.h"

namespace bora::cli {

namespace {

std::string without_runs(const std::string& folder) {
  if (report::is_run(folder))
    return fmt::format("{0} is a run itself\nnext:  bora inspect {0}\n", shell_word(folder));
  return fmt::format("{} holds no runs\nnext:  bora train recipes/quickstart.yaml --dry_run\n", folder);
}

}  // namespace

int run_runs(const Arguments& arguments) {
  std::string folder = "runs";
  bool json = false;
  Args args("runs",
            "The runs of a folder, newest first: state, step, loss, speed, and the command that comes next.",
            "  bora runs\n  bora runs /data/runs --json");
  args.positional("folder", folder, "where runs are; default: runs", false).is_path();
  args.flag("--json", json, "a JSON array instead of a table");
  args.parse(arguments);
  if (folder.empty())
    fail(ErrorKind::Usage, "runs: the folder is an empty text\nhint: bora runs lists those in runs/");
  const auto info = files().info(folder);
  if (!info || !info->is_directory)
    fail(ErrorKind::NotFound, "{} {}\nhint: runs lie in trainer.checkpointer.base_path; give that folder",
         folder, info ? "is no folder" : "does not exist");
  const auto runs = report::runs_in(folder);
  if (json)
    fmt::print("{}", report::runs_json(runs));
  else if (runs.empty())
    print_shown("{}", without_runs(folder));
  else
    print_shown("{}", report::runs_table(runs, wall_seconds()));
  return 0;
}

}  // namespace bora::cli
