// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include <fmt/core.h>

#include <map>
#include <set>

#include "bora/base/text.h"
#include "bora/cli/args.h"
#include "bora/cli/commands.h"
#include "bora/cli/completion.h"
#include "bora/cli/describe.h"
#include "bora/cli/key_trials.h"

namespace bora::cli {
namespace {

// Names of a user's own and elements of lists cannot be typed ahead; what has no effect need not be.
std::vector<std::string> keys_to_complete() {
  std::set<std::string> keys;
  for (const auto& key : described_keys())
    if (key.key.find_first_of("<[") == key.key.npos && key.type != "section" &&
        !key.doc.starts_with(kNotUsed))
      keys.insert(key.key);
  return {keys.begin(), keys.end()};
}

// Of those that are words out of a few.
std::vector<std::string> values_to_complete() {
  constexpr std::size_t kMost = 40;
  std::map<std::string, std::string> values;
  for (const auto& key : described_keys()) {
    if (key.key.find_first_of("<[") != key.key.npos || key.doc.starts_with(kNotUsed)) continue;
    std::vector<std::string> words;
    if (key.type.starts_with("true or false")) words = {"true", "false"};
    if (key.type.starts_with("one of "))
      for (const auto& word : split(key.type.substr(7), ',')) words.emplace_back(trim(word));
    if (key.type.starts_with("string")) words = KeyTrials(key).words_taken();
    if (!words.empty() && words.size() <= kMost) values.emplace(key.key, join(words, " "));
  }
  std::vector<std::string> out;
  for (const auto& [key, words] : values) out.push_back(fmt::format("{}={}", key, words));
  return out;
}

}  // namespace

int run_completion(const Arguments& arguments) {
  std::string shell;
  Args args("completion",
            "Print a script that has a shell complete commands, flags, configuration keys, runs and files.",
            "  source <(bora completion bash)                              in ~/.bashrc\n"
            "  bora completion zsh > ~/.zfunc/_bora                        a folder of fpath\n"
            "  bora completion fish > ~/.config/fish/completions/bora.fish");
  args.positional("shell", shell, "bash, zsh or fish").words({"bash", "zsh", "fish"});
  args.parse(arguments);
  fmt::print("{}", completion_script(shell, {commands(), command_specs(commands()), keys_to_complete(),
                                             values_to_complete()}));
  return 0;
}

}  // namespace bora::cli
