// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include "args.h"
#include "bora/base/text.h"
#include "commands.h"
#include "lm_config.h"
#include "text_data.h"
#include "train_run.h"

namespace bora::app {

int run_cache(const Arguments& arguments) {
  std::vector<std::string> configs;
  std::vector<std::pair<std::string, std::string>> overrides;
  bool verify = false;
  Args args("cache", "Build the token caches of a configuration, or check finished ones.",
            "  bora cache recipes/quickstart.yaml\n  bora cache recipes/quickstart.yaml --verify");
  args.positional("config", configs, "YAML files that name the data");
  args.flag("--verify", verify, "compare every file with its hash");
  args.overrides(overrides);
  args.parse(arguments);
  auto loaded = load_config(configs, overrides);
  track::Console console;
  auto text = prepare_text(loaded.config, run_place(loaded.config), loaded.config.model.config->seq_len(),
                           console, std::nullopt);
  for (const auto& c : text.caches) {
    if (!c.train) continue;
    if (verify) c.train->verify();
    console.line(fmt::format("{:<12}{} tokens · {} documents{}", c.name, with_commas(c.train->num_tokens()),
                             with_commas(c.train->num_documents()), verify ? " · hashes ok" : ""));
  }
  return 0;
}

}  // namespace bora::app
