// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <vector>

#include "bora/cli/args.h"

namespace bora::cli {

/// A manual page of section 1 in the language of man(7): of one command, bora-train(1) ...
std::string man_page(const CommandSpec& command);
/// ... and bora(1), which lists them all.
std::string man_page(const std::vector<Command>& all);

/// `bora help --man [COMMAND]`. Returns the exit code.
int print_man_page(const std::vector<std::string>& arguments);

}  // namespace bora::cli
