// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bora/run/flags.h"

namespace bora::cli {

/// The command line of `bora train`.
struct TrainArguments {
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, std::string>> overrides;
  run::RunFlags flags;
};
TrainArguments parse_train_arguments(const std::vector<std::string>& arguments);

}  // namespace bora::cli
