// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
// `bora data`: a look at what a configuration trains on.
#include <fmt/core.h>

#include <algorithm>

#include "bora/base/error.h"
#include "bora/base/file.h"
#include "bora/base/html.h"
#include "bora/base/locale_text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/user_files.h"
#include "bora/data/data_page.h"
#include "bora/data/loader.h"
#include "bora/run/data_order.h"
#include "bora/run/hf_start.h"
#include "bora/run/run_place.h"
#include "bora/run/text_data.h"

namespace bora::cli {
namespace {

run::TextData open_data(const run::LoadedConfig& loaded, track::Console& console) {
  return run::prepare_text(loaded.config, run::run_place(loaded.config),
                           run::sequences_of(loaded.config.model.config->shape(1)), console, std::nullopt);
}

/// To the page if one is wanted, else to standard output.
void show(const std::string& html, const std::string& page, const std::string& text) {
  if (html.empty()) {
    print_shown("{}", text);
    return;
  }
  write_atomically(html, page);
  print_shown("written: {}\n", html);
}

void inspect(const run::LoadedConfig& loaded, const run::TextData& text, std::int64_t step, std::int64_t rows,
             const std::string& html) {
  run::require_training_data(text);
  const auto train =
      text.datasets.train->in_order(run::data_order_of_run(run::run_place(loaded.config).directory));
  const data::Loader loader(train, loaded.config.trainer.batch_schedule());
  if (step < 0 || step >= loader.num_steps())
    fail(ErrorKind::Usage, "data inspect: there is no step {}; the data gives {}\nhint: --step 0 to {}", step,
         loader.num_steps(), loader.num_steps() - 1);
  const std::int64_t size = loader.schedule().batch_size(step);
  const auto batch = loader.batch(step, {0, std::clamp<std::int64_t>(rows, 1, size)});
  std::vector<std::string> names;
  for (const auto& source : train->sources()) names.push_back(source.name);
  const auto view = data::view_batch(
      batch, names, [&](std::span<const std::int32_t> ids) { return text.tokenizer.decode(ids); });
  show(html, data::batch_page(view), data::batch_text(view, track::detect_console().color));
}

void stats(const run::TextData& text, const std::string& html) {
  std::vector<data::CacheStats> all;
  for (const auto& set : text.caches) {
    if (set.train) all.push_back(data::cache_stats(set.name, *set.train));
    if (set.validation) all.push_back(data::cache_stats(set.name + " (validation)", *set.validation));
  }
  show(html, data::stats_page(all), data::stats_text(all));
}

}  // namespace

int run_data(const Arguments& arguments) {
  std::string what, html;
  std::vector<std::string> configs;
  std::vector<std::pair<std::string, std::string>> overrides;
  bool force = false;
  constexpr std::int64_t kNone = -1, kRows = 4;
  std::int64_t step = kNone, rows = kNone;
  Args args(
      "data", "Show a batch as the model will see it, or what the data sets are like.",
      "  bora data inspect recipes/quickstart.yaml --step 100\n  bora data stats recipes/quickstart.yaml "
      "--html data.html");
  args.positional("what", what, "inspect (a batch) or stats (of each data set)").words({"inspect", "stats"});
  args.positional("config", configs, "YAML files that name the data").is_path();
  args.option("--step", step, kStep, "inspect: which batch; default: 0");
  args.option("--rows", rows, kSize, "inspect: so many of its sequences; default: 4");
  args.option("--html", html, "write a page to this file instead").is_path();
  args.flag("--force", force, "with --html: write over a file that is there");
  args.overrides(overrides);
  args.parse(arguments);
  if (what != "inspect" && what != "stats")
    fail(ErrorKind::Usage, "data: {} is not one of inspect, stats\nhint: bora data --help", what);
  if (what == "stats" && (step != kNone || rows != kNone))
    fail(ErrorKind::Usage, "data: {} goes with inspect alone\nhint: bora data inspect CONFIG",
         step != kNone ? fmt::format("--step {}", step) : fmt::format("--rows {}", rows));
  if (!html.empty() && !exists(parent_path(html)))
    fail(ErrorKind::Usage, "data: the folder {0} of --html {1} does not exist\nhint: mkdir -p {0}",
         parent_path(html), html);
  if (!html.empty()) require_free_file("data", "--html", html, force, kPageMark);
  const auto loaded = run::load_run(configs, overrides);
  track::Console console;
  const auto text = open_data(loaded, console);
  console.settle();
  if (what == "inspect")
    inspect(loaded, text, std::max<std::int64_t>(0, step), rows == kNone ? kRows : rows, html);
  else
    stats(text, html);
  return 0;
}

}  // namespace bora::cli
