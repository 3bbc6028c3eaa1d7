// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
//
// What checking a configuration needs of optimizers, apart from their code: a program that loads no tensor
// library checks configurations.
#include <fmt/core.h>

#include <regex>

#include "bora/optim/weight_decay.h"

namespace bora::optim {

std::optional<std::string> regex_problem(const std::string& pattern) {
  try {
    std::regex(pattern).mark_count();
    return std::nullopt;
  } catch (const std::regex_error& e) {
    return fmt::format("\"{}\" is no regular expression: {}", pattern, e.what());
  }
}

}  // namespace bora::optim
