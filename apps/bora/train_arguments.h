// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lm_config.h"

namespace bora::app {

struct RunFlags {
  bool fresh = false;  ///< put an earlier run of the same name aside and start over
  bool dry_run = false;
  std::int64_t world = 0;  ///< with dry_run: plan for so many workers
  bool quiet = false, json = false;
};

/// The command line of `bora train`.
struct TrainArguments {
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, std::string>> overrides;
  RunFlags flags;
};
TrainArguments parse_train_arguments(const std::vector<std::string>& arguments);

}  // namespace bora::app
