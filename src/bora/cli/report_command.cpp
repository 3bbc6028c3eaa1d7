// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/html.h"
#include "bora/base/log.h"
#include "bora/base/shell_words.h"
#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/user_files.h"
#include "bora/report/page.h"
#include "bora/report/run_summary.h"

namespace bora::cli {

namespace {

void require_page_name(const std::string& out) {
  const auto name = ascii_lower(base_name(out));
  const auto dot = name.rfind('.');
  if (dot == name.npos || dot == 0 || name.ends_with(".html") || name.ends_with(".htm")) return;
  fail(ErrorKind::Usage, "report: --out {} ends in {}, but the page is HTML\nhint: --out {}.html", out,
       name.substr(dot), shell_word(out.substr(0, out.rfind('.'))));
}

}  // namespace

int run_report(const Arguments& arguments) {
  std::vector<std::string> runs;
  std::string out;
  bool force = false;
  Args args("report",
            "One page of a run, or of several over each other: curves, evaluations, samples, configurations.",
            "  bora report runs/brisk-otter-7\n  bora report runs/a runs/b --out compared.html");
  args.positional("run", runs, "run directories").is_path();
  args.option("--out", out,
              "file of the page; default: report.html in the run's directory, or here for several")
      .is_path();
  args.flag("--force", force, kForceDoc);
  args.parse(arguments);
  for (const auto& run : runs) report::require_run(run);
  if (!out.empty()) require_page_name(out);
  const bool own = out.empty() && runs.size() == 1;  // a page of that name there is Bora's
  if (out.empty()) out = runs.size() == 1 ? path_join(runs.front(), "report.html") : "report.html";
  if (const auto folder = parent_path(out); !folder.empty() && !exists(folder))
    fail(ErrorKind::NotFound, "report: the folder {} of --out {} does not exist\nhint: mkdir -p {}", folder,
         out, folder);
  if (const auto there = files().info(out); there && there->is_directory)
    fail(ErrorKind::Usage, "report: --out {} is a folder, not a file\nhint: --out {}", out,
         shell_word(path_join(out, "report.html")));
  require_free_file("report", "--out", out, force || own, kPageMark);
  for (const auto& problem : report::write_report(runs, out))
    log_warning("{}; the page is without it", problem);
  fmt::print("written: {}\n", out);
  return 0;
}

}  // namespace bora::cli
