// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <algorithm>

#include "bora/base/clock.h"
#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/locale_text.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
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

// The one that is given, or those where runs lie as a rule.
std::vector<std::string> folders_of(const std::string& given, const Arguments& arguments) {
  const bool is_given =
      std::any_of(arguments.begin(), arguments.end(), [](const auto& a) { return !a.starts_with('-'); });
  if (is_given && given.empty())
    fail(ErrorKind::Usage, "runs: the folder is an empty text\nhint: bora runs lists those in runs/");
  constexpr const char* kHint = "runs lie in trainer.checkpointer.base_path; give that folder";
  const auto is_folder = [](const std::string& path) {
    const auto info = files().info(path);
    return info && info->is_directory;
  };
  if (is_given) {
    if (!is_folder(given))
      fail(ErrorKind::NotFound, "{} {}\nhint: {}", given,
           files().info(given) ? "is no folder" : "does not exist", kHint);
    return {given};
  }
  auto out = report::usual_run_folders();
  const auto named = join(out, " nor ");
  std::erase_if(out, [&](const std::string& path) { return !is_folder(path); });
  if (out.empty()) fail(ErrorKind::NotFound, "runs: there is neither {} here\nhint: {}", named, kHint);
  return out;
}

}  // namespace

int run_runs(const Arguments& arguments) {
  std::string given;
  bool json = false;
  Args args("runs",
            "The runs of a folder, newest first: state, step, loss, speed, and the command that comes next.",
            "  bora runs\n  bora runs /data/runs --json");
  args.positional("folder", given,
                  "where runs are; default: runs and checkpoints, where recipes and "
                  "configurations without a base_path put them",
                  false)
      .is_path();
  args.flag("--json", json, "a JSON array instead of a table");
  args.parse(arguments);
  const auto folders = folders_of(given, arguments);
  const auto runs = report::runs_in(folders);
  if (json)
    fmt::print("{}", report::runs_json(runs));
  else if (runs.empty())
    print_shown("{}", without_runs(folders.front()));
  else
    print_shown("{}", report::runs_table(runs, wall_seconds()));
  return 0;
}

}  // namespace bora::cli
