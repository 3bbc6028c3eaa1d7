// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bora/cli/args.h"

namespace bora::cli {

/// What completions are made of.
struct CompletionWords {
  std::vector<Command> commands;
  std::vector<CommandSpec> specs;  ///< of the same commands
  std::vector<std::string> keys;   ///< of configurations: "trainer.seed"
  /// What some of these may be: "optimizer.lr_schedule=constant cosine".
  std::vector<std::string> values;
};

/// A script for "bash", "zsh" or "fish" that completes commands, their flags, configuration keys up to the next
/// dot, the words that keys and flags may be, the runs of the folders `runs` and `checkpoints` where a run is meant, and files. Usage error for another shell.
std::string completion_script(std::string_view shell, const CompletionWords& words);

}  // namespace bora::cli
